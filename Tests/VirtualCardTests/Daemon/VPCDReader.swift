import Glibc
import TestSupport

@testable import VirtualCard

/// The reader's side of vpcd's protocol, on its own port.
final class VPCDReader: @unchecked Sendable {
    let port: UInt16
    private let listener: Int32
    private var connection: Int32 = -1

    init() throws {
        (listener, port) = try VPCDReader.bind()
        guard listen(listener, 1) == 0 else { throw VirtualCardError(.unreachable, "no port") }
    }

    deinit {
        drop()
        close(listener)
    }

    /// A port on which no process listens.
    static func unusedPort() throws -> UInt16 {
        let (descriptor, port) = try bind()
        close(descriptor)
        return port
    }

    /// Waits until a card connects.
    func waitForCard() -> Bool {
        guard !Socket.readable([listener], timeout: .seconds(10)).isEmpty else { return false }
        connection = accept(listener, nil, nil)
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        return connection >= 0
    }

    /// Closes the connection of the card, as at the end of the service.
    func drop() {
        if connection >= 0 { close(connection) }
        connection = -1
    }

    func order(_ code: UInt8) { _ = send([code]) }

    func answerToReset() -> [UInt8]? { send([4]) ? receive() : nil }

    func transmit(_ command: [UInt8]) -> [UInt8]? { send(command) ? receive() : nil }

    /// Sends the length and the bytes in two pieces, as vpcd does.
    private func send(_ bytes: [UInt8]) -> Bool {
        let pieces: [[UInt8]] = [[UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)], bytes]
        return pieces.allSatisfy { (piece: [UInt8]) in
            piece.isEmpty || Glibc.send(connection, piece, piece.count, Int32(MSG_NOSIGNAL)) == piece.count
        }
    }

    private func receive() -> [UInt8]? {
        guard let length = receive(2) else { return nil }
        return receive(Int(length[0]) << 8 | Int(length[1]))
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var position = 0
        while position < count {
            let received = bytes.withUnsafeMutableBytes {
                recv(connection, $0.baseAddress! + position, count - position, 0)
            }
            if received <= 0 { return nil }
            position += received
        }
        return bytes
    }

    private static func bind() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw VirtualCardError(.unreachable, "no port") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}
