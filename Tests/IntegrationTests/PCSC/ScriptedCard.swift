import Foundation
import Synchronization
import TokenKit

/// A card in a virtual reader whose answers a test chooses.
///
/// A message of vpcd is a big-endian length of two bytes and that many bytes. A single byte orders power off (0), power on (1),
/// reset (2) or the answer to reset (4), the only order with an answer; all other messages are commands.
final class ScriptedCard: Sendable {
    /// An answer to reset of T=1 that announces extended length.
    static let atr: [UInt8] = [0x3B, 0x85, 0x80, 0x01, 0x80, 0x73, 0xC0, 0x21, 0xC0, 0x56]

    /// A message that the card was sent.
    enum Message: Hashable, Sendable {
        case powerOff, powerOn, reset
        case command([UInt8])
    }

    private let socket: Int32
    private let atr: [UInt8]
    private let answer: @Sendable ([UInt8]) -> [UInt8]?
    private let log = Mutex<[Message]>([])
    private let silence = Atomic(false)

    /// - Parameters:
    ///   - socket: the connection to the reader, which the card closes.
    ///   - answer: returns the answer to a command; nil takes the card out instead.
    init(socket: Int32, atr: [UInt8] = atr, answer: @escaping @Sendable ([UInt8]) -> [UInt8]? = echo) {
        self.socket = socket
        self.atr = atr
        self.answer = answer
        Thread { [self] in
            while let message = next(), respond(to: message) {}
            remove()
        }.start()
    }

    deinit { close(socket) }

    /// Answers a command with that command and 9000.
    static let echo: @Sendable ([UInt8]) -> [UInt8]? = { $0 + [0x90, 0x00] }

    /// The messages that the card was sent so far, in order.
    var messages: [Message] { log.withLock { $0 } }

    /// The commands among the messages.
    var commands: [[UInt8]] {
        messages.compactMap { if case .command(let bytes) = $0 { bytes } else { nil } }
    }

    /// Stops all answers of the card, as if its program were stopped.
    func fallSilent() { silence.store(true, ordering: .releasing) }

    /// Takes the card out of the reader.
    func remove() { shutdown(socket, Int32(SHUT_RDWR)) }

    private func respond(to message: [UInt8]) -> Bool {
        switch message {
        case [0]: log.withLock { $0.append(.powerOff) }
        case [1]: log.withLock { $0.append(.powerOn) }
        case [2]: log.withLock { $0.append(.reset) }
        case [4]: if !isSilent { send(atr) }
        default:
            log.withLock { $0.append(.command(message)) }
            guard let answer = answer(message) else { return false }
            if !isSilent { send(answer) }
        }
        return true
    }

    private var isSilent: Bool { silence.load(ordering: .acquiring) }

    private func next() -> [UInt8]? {
        guard let header = receive(2) else { return nil }
        return receive(Int(header[0]) << 8 | Int(header[1]))
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            let more = bytes[received...].withUnsafeMutableBytes { recv(socket, $0.baseAddress, $0.count, 0) }
            guard more > 0 else { return nil }
            received += more
        }
        return bytes
    }

    private func send(_ message: [UInt8]) {
        let bytes = [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
        var sent = 0
        while sent < bytes.count {
            let more = Glibc.send(socket, Array(bytes[sent...]), bytes.count - sent, Int32(MSG_NOSIGNAL))
            guard more > 0 else { return }
            sent += more
        }
    }
}
