import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The session's host, on a session's bus of the test's own with a stand-in for the desktop.
@Suite struct DesktopTests {
    private let folder: TemporaryFolder
    private let bus: TestBus
    private let holder: DaemonWithCard
    private let environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        bus = try TestBus(in: folder)
        var builder = VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256)
        builder.keys[.authentication]?.touchPolicy = .always
        holder = try DaemonWithCard(builder.build())
        environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": holder.daemon.socketPath, "TOKENKIT_HOST": "session", "CARD_PIN": "123456",
            "WRONG_PIN": "111111", "OTHER_PIN": "222222", "LAST_PIN": "333333",
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
        ]) { $1 }
        try folder.write("message", "message")
    }

    /// Signs with a key that waits for a touch, and touches the card.
    ///
    /// - Parameter wait: runs once the card waits.
    private func sign(_ variables: [String: String] = [:], whileItWaits wait: () throws -> Void = {}) throws {
        let sign = [
            Program.command, "sign", "-k", "9A", "-o", folder.path("signature"), folder.path("message"), "--pin-source",
            "env:CARD_PIN",
        ]
        let signing = Signing(sign, environment.merging(variables) { $1 })
        #expect(eventually { holder.card.awaitsTouch })
        try wait()
        holder.card.touch()
        #expect(eventually { signing.result != nil })
        #expect(signing.result?.status == 0, "\(String(describing: signing.result))")
    }

    /// A program that runs meanwhile.
    private final class Signing: Sendable {
        private let ended = Mutex<ProgramResult?>(nil)
        var result: ProgramResult? { ended.withLock { $0 } }

        init(_ command: [String], _ environment: [String: String]) {
            Thread.detachNewThread { [self] in
                let result = try? Program.run(command, environment: environment)
                ended.withLock { $0 = result }
            }
        }
    }

    private func withHost(_ variables: [String: String] = [:], _ body: () throws -> Void) throws {
        let host = SessionHost(in: folder, environment.merging(variables) { $1 })
        try host.start()
        defer { host.stop() }
        try body()
    }

    @Test func aTouchIsAskedForWithTheProgramsNameAndTheBubbleIsClosed() throws {
        let desktop = try StandInDesktop(on: bus)
        try withHost {
            for number in 1...2 {
                try sign { #expect(eventually { desktop.shown.count == number }) }
                #expect(eventually { desktop.calls.last == "close \(number)" })
            }
        }
        #expect(desktop.calls.count == 4, "\(desktop.calls)")
        for text in desktop.shown {
            #expect(text.hasPrefix("Touch the card|'tokenctl' uses '"), "\(text)")
            #expect(text.hasSuffix("', which waits for a touch."), "\(text)")
        }
    }

    @Test func theLastTryAndABlockedPINAreTold() throws {
        let desktop = try StandInDesktop(on: bus)
        try withHost {
            for (name, count) in [("WRONG_PIN", 0), ("OTHER_PIN", 1), ("LAST_PIN", 2)] {
                let result = try Program.run(
                    [Program.command, "card", "pin", "verify", "--last-try", "--pin-source", "env:\(name)"],
                    environment: environment)
                #expect(result.status != 0)
                #expect(eventually { desktop.shown.count == count })
            }
        }
        #expect(desktop.shown.first?.hasPrefix("One try of the PIN is left|The card in '") == true)
        #expect(desktop.shown.last?.hasPrefix("The PIN is blocked|The card in '") == true)
        #expect(desktop.shown.allSatisfy { $0.contains("'tokenctl'") }, "\(desktop.shown)")
        for pin in ["111111", "222222", "333333"] { #expect(!"\(desktop.calls)".contains(pin)) }
    }

    @Test func theLastTryOfAnotherMakersModuleIsTold() throws {
        let desktop = try StandInDesktop(on: bus)
        try FileManager.default.createDirectory(
            atPath: folder.path("tokenkit"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try folder.write("tokenkit/disabled-drivers", "piv\n")
        let module = ["--module", "/usr/lib/x86_64-linux-gnu/opensc-pkcs11.so"]
        try withHost {
            for (name, count) in [("WRONG_PIN", 0), ("OTHER_PIN", 1)] {
                let result = try Program.run(
                    [Program.command, "card", "pin", "verify", "--last-try", "--pin-source", "env:\(name)"] + module,
                    environment: environment)
                #expect(result.status == 51, "\(result)")
                #expect(eventually { desktop.shown.count == count })
            }
        }
        #expect(desktop.shown.first?.hasPrefix("One try of the PIN is left|") == true, "\(desktop.shown)")
    }

    /// A time in which a bubble would have been shown.
    private static func letTimePass() { usleep(500_000) }

    @Test func aPersonMayWantNone() throws {
        let desktop = try StandInDesktop(on: bus)
        try withHost(["TOKENKIT_NOTIFICATIONS": "no"]) { try sign { Self.letTimePass() } }
        #expect(desktop.calls.isEmpty, "\(desktop.calls)")
    }

    @Test func aPrivateHostShowsNone() throws {
        let desktop = try StandInDesktop(on: bus)
        try sign(["TOKENKIT_HOST": "private"]) { Self.letTimePass() }
        #expect(desktop.calls.isEmpty, "\(desktop.calls)")
    }

    /// A bus that accepts a connection and says nothing, a server that does not answer, and no bus at all.
    @Test(arguments: ["hung", "mute", "none"]) func noSignatureWaitsForTheDesktop(bus kind: String) throws {
        let hung = folder.path("hung")
        let listener = try listen(at: hung)
        defer { close(listener) }
        let desktop = try StandInDesktop(on: bus, .mute)
        let address = ["hung": "unix:path=\(hung)", "mute": bus.address, "none": "unix:path=\(folder.path("none"))"]
        try withHost(["DBUS_SESSION_BUS_ADDRESS": address[kind] ?? ""]) {
            // The first message is never answered while the next ones are wanted.
            try sign {
                switch kind {
                case "hung": #expect(eventually { accept(listener, nil, nil) >= 0 })
                case "mute": #expect(eventually { desktop.calls == ["asked"] })
                default: Self.letTimePass()
                }
            }
            for _ in 0..<3 { try sign() }
        }
        #expect(desktop.calls.allSatisfy { $0 == "asked" })
    }

    /// A socket at a path, at which nobody answers.
    private func listen(at path: String) throws -> Int32 {
        let flags = [SOCK_STREAM, SOCK_CLOEXEC, SOCK_NONBLOCK].map { Int32($0.rawValue) }
        let listener = socket(AF_UNIX, flags.reduce(0, |), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && Glibc.listen(listener, 8) == 0)
        return listener
    }
}
