import Foundation
import SystemCrypto
import TestSupport
import Testing

/// PKCS #11 modules of other makers in the SSH agent of the session's host.
@Suite struct AgentModuleTests {
    private let session: OwnAgent
    private let softHSM: SoftHSM
    private var card: ConsumerCard { session.card }

    /// SoftHSM's token has a key of each kind that SSH and SoftHSM have in common.
    private static let kinds = ["EC:prime256v1", "rsa:2048", "EC:secp384r1"]
    private static let resolved = URL(filePath: SoftHSM.path).resolvingSymlinksInPath().path(percentEncoded: false)

    init() throws {
        softHSM = try SoftHSM(
            Self.kinds.enumerated().map { index, kind in
                ["--keypairgen", "--key-type", kind, "--id", "0\(index + 1)", "--label", "key \(index + 1)"]
            })
        let settings = try #require(softHSM.environment.first).split(separator: "=", maxSplits: 1).map(String.init)
        session = try OwnAgent(
            ConsumerCard(["9A": .ecP256, "9C": .ecP256]), variables: [settings[0]: settings[1]])
    }

    /// The variables of an `ssh-add` whose person types a PIN.
    private func typing(_ pin: String) throws -> [String: String] {
        try card.folder.writeProgram("askpass", "echo \(pin)")
        return session.variables.merging(session.ssh.asking) { $1 }
    }

    private func add(
        _ options: [String] = [], _ path: String = SoftHSM.path, pin: String = "123456",
        at location: SourceLocation = #_sourceLocation
    ) throws {
        try card.succeed(["ssh-add"] + options + ["-s", path], typing(pin), at: location)
    }

    private func refuse(
        _ options: [String] = [], _ path: String = SoftHSM.path, pin: String = "123456",
        at location: SourceLocation = #_sourceLocation
    ) throws {
        try card.fail(["ssh-add"] + options + ["-s", path], typing(pin), at: location)
    }

    /// The module's keys that the agent lists, which are those behind the card's. The first one is written to the file "soft.pub".
    private func keys() throws -> [String] {
        let keys = try Array(session.keys().dropFirst(2))
        if let key = keys.first { try card.folder.write("soft.pub", key + "\n") }
        return keys
    }

    @Test func aModulesTokenForgetsItsPINWhenAllIsLocked() throws {
        defer { session.host.stop() }
        try add()
        _ = try keys()
        try session.sign(with: "soft.pub")
        #expect(try card.pinentryPermissions.count == 1)
        try session.tokenctl("lock-keychain", "-a")
        try session.sign(with: "soft.pub")
        #expect(try card.pinentryPermissions.count == 1)
        #expect(try card.pinentryQuestions.count == 1)
    }

    @Test func aModulesKeysSignAndAreRemoved() throws {
        defer { session.host.stop() }
        try add()
        let keys = try keys()
        try #require(keys.count == 3, "\(keys)")
        #expect(keys[0].hasSuffix(" key 1 (soft)"))
        #expect(try softHSM.workers.count == 1)
        let server = try session.ssh.startServer(admitting: "soft.pub")
        let chosen = ["-o", "IdentitiesOnly=yes", "-i", card.path("soft.pub")]
        for _ in 1...2 { try server.signIn(chosen, session.variables) }
        // ssh-add has given the PIN, and ssh is another program.
        let permissions = try card.pinentryPermissions
        try #require(permissions.count == 2, "\(permissions)")
        #expect(permissions[0].contains("log in with ssh as '\(NSUserName())'"), "\(permissions)")
        for key in keys {
            try card.folder.write("soft.pub", key + "\n")
            try session.sign(with: "soft.pub")
        }
        #expect(try card.pinentryQuestions.isEmpty)
        #expect(try softHSM.workers.count == 1)
        // The PIN is given anew, and no key is listed twice.
        try add()
        #expect(try self.keys().count == 3)
        try session.add("-e", SoftHSM.path)
        #expect(try self.keys().isEmpty)
        #expect(try eventually { try softHSM.workers.isEmpty })
        try session.refuse("-e", SoftHSM.path)
        try session.refuse("-T", card.path("soft.pub"))
    }

    @Test func aPINThatIsWrongAddsNothing() throws {
        defer { session.host.stop() }
        for _ in 1...2 { try refuse(pin: "654321") }
        #expect(try keys().isEmpty)
        #expect(try eventually { try softHSM.workers.isEmpty })
        try add()
        #expect(try keys().count == 3)
        // During a login, a module takes any PIN.
        try refuse(pin: "111111")
        #expect(try keys().count == 3)
        #expect(try card.pinentryQuestions.isEmpty)
    }

    @Test func withoutAPINTheHostAsksAtTheFirstUse() throws {
        defer { session.host.stop() }
        try add(pin: "")
        #expect(try keys().count == 3)
        #expect(try card.pinentryQuestions.isEmpty)
        for _ in 1...2 { try session.sign(with: "soft.pub") }
        let questions = try card.pinentryQuestions
        #expect(questions.count == 1)
        #expect(questions.first?.contains("sign a file with ssh (namespace 'file')") == true, "\(questions)")
    }

    @Test func aPINIsTriedOnNoneOfSeveralTokens() throws {
        defer { session.host.stop() }
        try softHSM.run([
            "softhsm2-util", "--init-token", "--free", "--label", "other", "--pin", "222222", "--so-pin", "12345678",
        ])
        try refuse()
        #expect(try keys().isEmpty)
        try add(pin: "")
        #expect(try keys().count == 3)
        try session.sign(with: "soft.pub")
        #expect(try card.pinentryQuestions.count == 1)
    }

    @Test func modulesElsewhereAreRefused() throws {
        defer { session.host.stop() }
        let copy = card.path("module.so")
        try FileManager.default.copyItem(atPath: Self.resolved, toPath: copy)
        for path in [
            copy, card.path("missing.so"), "libsofthsm2.so", "/usr/lib/softhsm", "/usr/bin/ssh", "/etc/passwd",
        ] {
            try refuse([], path)
        }
        #expect(try softHSM.workers.isEmpty)
        // A link leads to the module that counts.
        let link = card.path("link.so")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Self.resolved)
        try add([], link)
        #expect(try keys().count == 3)
        try session.add("-e", link)
        #expect(try keys().isEmpty)
    }

    @Test func anotherMachineUsesAModuleAndAddsNone() throws {
        defer { session.host.stop() }
        let server = try session.ssh.startServer(admitting: "9A.pub")
        let list = server.forwarding(["ssh-add", "-L"])
        #expect(try !card.succeed(list, session.variables).contains("(soft)"))
        let asking = try typing("123456").filter { $0.key.hasPrefix("SSH_ASKPASS") }.map { "\($0.key)=\($0.value)" }
        let refused = try card.run(
            server.forwarding(["env"] + asking + ["ssh-add", "-s", SoftHSM.path]), session.variables)
        #expect(refused.status != 0 && refused.description.contains("agent refused operation"), "\(refused)")
        #expect(try keys().isEmpty)
        try add()
        #expect(try card.succeed(list, session.variables).contains("(soft)"))
        _ = try keys()
        try card.folder.write("permissions", "")
        try card.succeed(server.forwarding(["ssh-add", "-T", card.path("soft.pub")]), session.variables)
        let permissions = try card.pinentryPermissions
        #expect(permissions.contains { $0.contains("From: host ED25519 SHA256:") && $0.contains("key 1 (soft)") })
        #expect(try card.run(server.forwarding(["ssh-add", "-e", SoftHSM.path]), session.variables).status != 0)
        #expect(try keys().count == 3)
    }

    /// OpenSC's module reads the card as well.
    @Test func aCardIsListedOnce() throws {
        defer { session.host.stop() }
        let path = "/usr/lib/x86_64-linux-gnu/opensc-pkcs11.so"
        for pin in ["", ConsumerCard.pin] { try refuse([], path, pin: pin) }
        #expect(try session.keys().count == 2)
        try session.sign(with: "9A.pub")
        #expect(try card.pinentryQuestions.count == 1)
    }

    @Test func removingAllKeysAndLockingRemovesAndHidesThem() throws {
        defer { session.host.stop() }
        try add()
        let asking = try typing("open")
        try card.succeed(["ssh-add", "-x"], asking)
        #expect(try session.refuse("-l").contains("no identities"))
        try refuse()
        try card.succeed(["ssh-add", "-X"], typing("open"))
        #expect(try keys().count == 3)
        try session.add("-D")
        #expect(try keys().isEmpty)
        #expect(try session.keys().count == 2)
        #expect(try eventually { try softHSM.workers.isEmpty })
    }

    @Test func constraintsHoldForItsKeys() throws {
        defer { session.host.stop() }
        try add(["-t", "2"])
        #expect(try keys().count == 3)
        #expect(try eventually { try keys().isEmpty && softHSM.workers.isEmpty })
        try add(["-c"])
        _ = try keys()
        try session.sign(with: "soft.pub")
        let permissions = try card.pinentryPermissions
        #expect(permissions.first?.hasPrefix("Allow one use of a key with ssh?") == true, "\(permissions)")
        try card.folder.writeProgram("pinentry", "exit 1")
        try session.refuse("-T", card.path("soft.pub"))
    }

    @Test func aCertificateIsBesideItsKey() throws {
        defer { session.host.stop() }
        try add()
        _ = try keys()
        try session.makeKey("authority")
        try FileManager.default.createDirectory(
            atPath: card.path("home/.ssh"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try card.folder.write("home/.ssh/soft.pub", card.text("soft.pub"))
        try card.succeed(
            ["ssh-keygen", "-q", "-s", card.path("authority"), "-I", "Jo", "-n", NSUserName()]
                + [card.path("home/.ssh/soft.pub")])
        let keys = try keys()
        try #require(keys.count == 4)
        #expect(keys[1].hasPrefix("ecdsa-sha2-nistp256-cert-v01@openssh.com "))
        try card.folder.write("authorities", "cert-authority " + card.text("authority.pub"))
        try session.ssh.startServer(admitting: "authorities").signIn([], session.variables)
    }

    @Test func aModuleThatEndsHidesNoOtherKeysAndIsStartedAgain() throws {
        defer { session.host.stop() }
        try add()
        _ = try keys()
        try session.sign(with: "soft.pub")
        for worker in try softHSM.workers { kill(worker, SIGKILL) }
        // The first look finds it gone, and the next one starts it.
        #expect(try session.keys().count >= 2)
        #expect(try eventually { try keys().count == 3 })
        #expect(try card.pinentryQuestions.isEmpty)
        try session.sign(with: "soft.pub")
        #expect(try card.pinentryQuestions.count == 1, "the login ended with the module's process")
    }
}
