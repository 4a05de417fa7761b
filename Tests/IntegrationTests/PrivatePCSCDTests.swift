import Foundation
import TestSupport
import Testing

/// The daemon that all other tests here use.
@Suite struct PrivatePCSCDTests {
    @Test func offersItsReaderUnderTheNameAskedFor() throws {
        let daemon = try PrivatePCSCD(reader: "Yubico YubiKey")
        #expect(daemon.readerName == "Yubico YubiKey 00 00")
        let listing = try daemon.run(["opensc-tool", "--list-readers"])
        #expect(listing.text.contains("No              Yubico YubiKey 00 00"), "\(listing)")
    }

    @Test func seesTheCardThatConnectsAndItsRemoval() throws {
        let daemon = try PrivatePCSCD()
        let card = EchoingCard(socket: try daemon.connectCard())
        card.waitUntilPowered()
        let answer = try daemon.run(["opensc-tool", "--card-driver", "default", "--send-apdu", "00:CB:3F:FF"])
        #expect(answer.text.contains("Received (SW1=0x90, SW2=0x00):\n00 CB 3F FF"), "\(answer)")

        card.remove()
        var listing = try daemon.run(["opensc-tool", "--list-readers"])
        try eventually {  // the daemon looks into the reader now and then
            listing = try daemon.run(["opensc-tool", "--list-readers"])
            return !listing.text.contains("Yes")
        }
        #expect(listing.text.contains("No              Virtual PCD 00 00"), "\(listing)")
    }

    @Test func standsBesideOthers() throws {
        let daemons = try [PrivatePCSCD(reader: "Left"), PrivatePCSCD(reader: "Right")]
        for (daemon, other) in zip(daemons, daemons.reversed()) {
            let listing = try daemon.run(["opensc-tool", "--list-readers"])
            #expect(listing.text.contains(daemon.readerName))
            #expect(!listing.text.contains(other.readerName))
        }
    }

    @Test func takesEveryProcessWithItWhenItEnds() throws {
        var daemon: PrivatePCSCD? = try PrivatePCSCD()
        let namespace = try FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/\(try #require(daemon).processIdentifier)/ns/net")
        #expect(processes(in: namespace) >= 2)
        daemon = nil
        #expect(processes(in: namespace) == 0)
    }

    private func processes(in namespace: String) -> Int {
        let files = FileManager.default
        let identifiers = (try? files.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
        return identifiers.count {
            (try? files.destinationOfSymbolicLink(atPath: "/proc/\($0)/ns/net")) == namespace
        }
    }
}

/// The smallest card that vpcd accepts: it answers every command with that command and 9000.
private final class EchoingCard: @unchecked Sendable {
    private let connection: FileHandle
    private let powered = DispatchSemaphore(value: 0)

    init(socket: Int32) {
        connection = FileHandle(fileDescriptor: socket, closeOnDealloc: true)
        Thread { [self] in
            while let message = next() { answer(message) }
        }.start()
    }

    func waitUntilPowered() { powered.wait() }

    func remove() { shutdown(connection.fileDescriptor, Int32(SHUT_RDWR)) }

    /// A message is a big-endian length of two bytes and that many bytes.
    private func next() -> [UInt8]? {
        guard let header = read(2) else { return nil }
        return read(Int(header[0]) << 8 | Int(header[1]))
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = try? connection.read(upToCount: count - bytes.count), !more.isEmpty else { return nil }
            bytes += more
        }
        return bytes
    }

    /// A single byte orders power off (0), power on (1), reset (2) or the ATR (4), the only order with an answer; all other
    /// messages are APDUs.
    private func answer(_ message: [UInt8]) {
        switch message {
        case [0], [2]: break
        case [1]: powered.signal()
        case [4]: send([0x3B, 0x80, 0x80, 0x01, 0x01])
        default: send(message + [0x90, 0x00])
        }
    }

    private func send(_ message: [UInt8]) {
        let length = [UInt8(message.count >> 8), UInt8(message.count & 0xFF)]
        connection.send(length + message)
    }
}
