import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// Looks for secrets in the memory of the session's host and of its clients.
@Suite struct SecretsInMemoryTests {
    private let folder: TemporaryFolder
    private let holder: DaemonWithCard
    private let environment: [String: String]
    private let host: SessionHost

    /// No other bytes of a program are likely to be equal to these.
    private static let pin = Array("86427531".utf8)
    private static let password = "hidden hare 4711"
    private static let secret = "buried badger 0815"

    init() throws {
        folder = try TemporaryFolder()
        let card = try VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build()
        _ = card.process([0x00, 0xA4, 0x04, 0x00, 0x05, 0xA0, 0x00, 0x00, 0x03, 0x08])
        let change = [0x00, 0x24, 0x00, 0x80, 0x10] + Array("123456".utf8) + [0xFF, 0xFF] + Self.pin
        try #require(card.process(change) == [0x90, 0x00])
        card.reset()
        holder = try DaemonWithCard(card)
        environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": holder.daemon.socketPath, "TOKENKIT_HOST": "session", "TOKENKIT_MODULES": "",
        ]) { $1 }
        host = SessionHost(in: folder, environment)
    }

    @discardableResult
    private func tokenctl(_ arguments: String...) throws -> String {
        let result = try Program.run([Program.command] + arguments, environment: environment)
        try #require(result.status == 0, "\(result)")
        return result.text
    }

    @Test func aTypedPINIsInLockedMemoryOfTheHostAloneUntilTheLock() throws {
        try host.start()
        defer { host.stop() }
        let process = try #require(try host.process)
        let moments = Mutex<[String]>([])
        let program = try ModuleProgram.compile("pin-typed", in: folder)
        let result = try ModuleProgram.run(
            program, in: folder, service: holder.daemon.socketPath,
            ["TOKENKIT_HOST": "session", "TOKENKIT_MODULES": ""], input: Self.pin
        ) { wish in
            let words = wish.split(separator: " ", maxSplits: 1)
            let client = try #require(Int32(words[0]))
            let moment = String(words[1])
            if moment == "locked" { try tokenctl("lock-keychain", "-a") }
            #expect(try OtherProcessMemory.mappings(of: client, with: Self.pin).isEmpty, "\(moment)")
            // A buffer may be wiped just after the answer.
            let isWiped = try eventually {
                try OtherProcessMemory.mappings(of: process, with: Self.pin)
                    .allSatisfy { moment != "locked" && $0.flags.contains("lo") && $0.flags.contains("dd") }
            }
            let places = try OtherProcessMemory.mappings(of: process, with: Self.pin)
            #expect(isWiped, "\(moment): \(places)")
            #expect(places.isEmpty == (moment == "locked"), "\(moment)")
            moments.withLock { $0.append(moment) }
        }
        #expect(result.status == 0, "\(result)")
        #expect(moments.withLock { $0 } == ["logged in", "used", "logged out", "locked"])
    }

    @Test func aKeychainsPasswordAndItsSecretsAreNotInTheHostAfterItsAnswers() throws {
        try host.start()
        defer { host.stop() }
        let process = try #require(try host.process)
        let file = try folder.write("password", Self.password + "\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let password = "file:" + file
        func expectNone(_ text: String, _ moment: String) throws {
            let bytes = Array(text.utf8)
            try eventually { try OtherProcessMemory.mappings(of: process, with: bytes).isEmpty }
            let places = try OtherProcessMemory.mappings(of: process, with: bytes)
            #expect(places.isEmpty, "\(moment): \(places)")
        }
        try tokenctl("create-keychain", "--pin-source", password)
        try expectNone(Self.password, "created")
        let added = try Program.run(
            [Program.command, "add-generic-password", "-a", "jo", "-s", "mail"], environment: environment,
            input: Array(Self.secret.utf8))
        #expect(added.status == 0, "\(added)")
        try expectNone(Self.secret, "added")
        try tokenctl("lock-keychain", "-a")
        // A shell that has given the password is not asked about.
        let shell = #""$0" unlock-keychain --pin-source "$1" && exec "$0" find-generic-password -s mail -w"#
        let read = try Program.run(["sh", "-c", shell, Program.command, password], environment: environment)
        #expect(read.text == Self.secret + "\n", "\(read)")
        try expectNone(Self.secret, "read")
        try expectNone(Self.password, "read")
    }
}
