import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// OpenSSH's programs with the SSH agent of the session's host.
@Suite struct OwnAgentTests {
    private static let kinds: [KeyKind] = [.rsa(bits: 2048), .ecP256, .ecP384]

    @Test(arguments: kinds) func signsInWithOnePINForAllLogins(kind: KeyKind) throws {
        let session = try OwnAgent(kind)
        defer { session.host.stop() }
        let (card, ssh) = (session.card, session.ssh)
        let keys = try session.keys()
        #expect(keys.count == 2, "\(keys)")
        #expect(keys.first?.contains("PIV Authentication (\(ConsumerCard.label))") == true)
        #expect(try card.text("9A.pub").split(separator: " ")[1] == keys[0].split(separator: " ")[1])
        #expect(try card.pinentryQuestions.isEmpty)
        let server = try ssh.startServer(admitting: "9A.pub")
        for _ in 1...2 { try server.signIn([], session.variables) }
        let questions = try card.pinentryQuestions
        #expect(questions.count == 1)
        #expect(questions[0].contains("log in with ssh as '\(NSUserName())'"), "\(questions)")
        #expect(questions[0].contains("ED25519 SHA256:"))
        // The next login after an absence of the card needs the PIN, and nothing else.
        try card.replug()
        try server.signIn([], session.variables)
        #expect(try card.pinentryQuestions.count == 2)
        #expect(session.ssh.questions.isEmpty)
    }

    @Test func listingSendsAKnownCardNoCommand() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        #expect(try session.keys().count == 2)
        let commands = session.card.holder.link.commandCount
        #expect(try session.keys().count == 2)
        #expect(session.card.holder.link.commandCount == commands)
        try session.card.replug()
        #expect(try session.keys().count == 2)
        session.card.holder.link.remove()
        try session.card.holder.waitForNoCard()
        #expect(try session.refuse("-l").contains("no identities"))
    }

    @Test func usesOfAddedKeysAreInTheLog() throws {
        let session = try OwnAgent(.ecP256)
        defer { session.host.stop() }
        let card = session.card
        try card.succeed(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", card.path("added")])
        try session.add(card.path("added"))
        try card.succeed(["rm", card.path("added")])
        try session.sign(with: "added.pub")
        #expect(try session.tokenctl("host", "log").contains(#/\]: sign with 'SHA256:[^']+' of 'the SSH agent': done/#))
    }

    @Test(arguments: kinds) func signsFilesAndCommits(kind: KeyKind) throws {
        let session = try OwnAgent(kind)
        defer { session.host.stop() }
        let card = session.card
        try session.sign(with: "9A.pub")
        #expect(
            try card.pinentryQuestions.last?.contains(
                "with key 9A: sign a file with ssh (namespace 'file') for '/usr/bin/ssh-keygen'") == true)
        try card.folder.write("allowed", "jo@example.com " + card.text("9A.pub"))
        let repository = card.path("repository")
        let git = [
            "git", "-C", repository, "-c", "user.name=Jo", "-c", "user.email=jo@example.com", "-c", "gpg.format=ssh",
            "-c", "user.signingkey=" + card.path("9A.pub"), "-c", "gpg.ssh.allowedSignersFile=" + card.path("allowed"),
        ]
        try card.succeed(["git", "init", "--quiet", repository])
        try card.succeed(git + ["commit", "-S", "--allow-empty", "--message=One"], session.variables)
        #expect(
            try card.succeed(git + ["verify-commit", "--verbose", "HEAD"], session.variables)
                .contains("Good \"git\" signature for jo@example.com"))
        #expect(try card.pinentryQuestions.count == 1)
        // `ssh-add -T` of OpenSSH 9.2 asks RSA keys for SHA-1.
        if kind.isRSA {
            try session.refuse("-T", card.path("9A.pub"))
        } else {
            try session.add("-T", card.path("9A.pub"))
        }
    }

    @Test(arguments: ["ed25519", "rsa", "ecdsa"]) func keepsAddedKeys(kind: String) throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        try session.makeKey("own", kind)
        try session.add(card.path("own"))
        #expect(try session.keys().count == 3)
        let server = try session.ssh.startServer(admitting: "own.pub")
        try server.signIn(["-o", "IdentitiesOnly=yes", "-i", card.path("own.pub")], session.variables)
        try session.sign(with: "own.pub")
        try session.add("-d", card.path("own.pub"))
        #expect(try session.keys().count == 2)
        try session.add(card.path("own"))
        try session.add("-D")
        #expect(try session.keys().count == 2)
        #expect(try card.pinentryQuestions.isEmpty)
    }

    @Test func removesAKeyAtTheEndOfItsLife() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        try session.makeKey("own")
        try session.add("-t", "2", session.card.path("own"))
        #expect(try session.keys().count == 3)
        try eventually { try session.keys().count == 2 }
    }

    @Test func asksBeforeEachUseWhereItWasToldTo() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        try session.makeKey("own")
        try session.add("-c", card.path("own"))
        try session.sign(with: "own.pub")
        #expect(try card.pinentryPermissions.count == 1)
        try card.folder.writeProgram("pinentry", "exit 1")
        try session.refuse("-T", card.path("own.pub"))
    }

    @Test func locks() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        try session.makeKey("own")
        try session.add(card.path("own"))
        try card.folder.writeProgram("askpass", "echo open")
        let asking = session.variables.merging(session.ssh.asking) { $1 }
        try card.succeed(["ssh-add", "-x"], asking)
        #expect(try session.refuse("-l").contains("no identities"))
        try session.refuse("-T", card.path("own.pub"))
        try session.refuse("-T", card.path("9A.pub"))
        try card.folder.writeProgram("askpass", "echo wrong")
        try card.fail(["ssh-add", "-X"], asking)
        try card.folder.writeProgram("askpass", "echo open")
        try card.succeed(["ssh-add", "-X"], asking)
        #expect(try session.keys().count == 3)
    }

    @Test func usesAKeyForTheServerAloneThatItIsFor() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        try session.makeKey("own")
        let server = try session.ssh.startServer(admitting: "own.pub")
        let chosen = ["-o", "IdentitiesOnly=yes", "-i", card.path("own.pub")]
        try session.add("-H", card.path("known"), "-h", "[127.0.0.1]:\(server.port)", card.path("own"))
        try server.signIn(chosen, session.variables)
        // Without a bound connection, nothing tells where the signature goes.
        try session.refuse("-T", card.path("own.pub"))
        try card.folder.write("others", "elsewhere " + card.text("9C.pub"))
        try session.add("-H", card.path("others"), "-h", "elsewhere", card.path("own"))
        try server.refuse(chosen, session.variables)
    }

    @Test func knowsAServerByTheAuthorityOfItsCertificate() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        for name in ["own", "authority", "other"] { try session.makeKey(name) }
        let server = try session.ssh.startServer(admitting: "own.pub", certifiedBy: "authority")
        let chosen = ["-o", "IdentitiesOnly=yes", "-i", card.path("own.pub")]
        let destination = ["-h", "[127.0.0.1]:\(server.port)", "-c", card.path("own")]
        try card.succeed(["ssh-add", "-H", card.path("known")] + destination, session.variables)
        try FileManager.default.createDirectory(
            atPath: card.path("home/.ssh"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try card.folder.write("home/.ssh/known_hosts", card.text("known"))
        try server.signIn(chosen, session.variables)
        let permissions = try card.pinentryPermissions
        #expect(permissions.last?.contains("at 127.0.0.1 (ED25519 SHA256:") == true, "\(permissions)")
        try card.folder.write("others", "@cert-authority *127.0.0.1* " + card.text("other.pub"))
        try card.succeed(["ssh-add", "-H", card.path("others")] + destination, session.variables)
        try server.refuse(chosen, session.variables)
    }

    @Test func unlocksACardByThePINOfSSHAdd() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        let asking = session.variables.merging(session.ssh.asking) { $1 }
        try card.succeed(["ssh-add", "-s", ConsumerCard.module], asking)
        try session.sign(with: "9A.pub")
        #expect(try card.pinentryQuestions.isEmpty)
        try card.succeed(["ssh-add", "-e", ConsumerCard.module], asking)
        try session.sign(with: "9A.pub")
        #expect(try card.pinentryQuestions.count == 1)
        try card.fail(["ssh-add", "-s", "/usr/lib/other.so"], asking)
    }

    @Test func showsCertificatesBesideKeys() throws {
        let session = try OwnAgent()
        defer { session.host.stop() }
        let card = session.card
        try session.makeKey("authority")
        try FileManager.default.createDirectory(
            atPath: card.path("home/.ssh"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try card.folder.write("home/.ssh/card.pub", card.text("9A.pub"))
        try card.succeed(
            [
                "ssh-keygen", "-q", "-s", card.path("authority"), "-I", "Jo", "-n", NSUserName(),
                card.path("home/.ssh/card.pub"),
            ])
        let keys = try session.keys()
        #expect(keys.count == 3)
        #expect(keys[1].hasPrefix("ecdsa-sha2-nistp256-cert-v01@openssh.com "))
        try card.folder.write("authorities", "cert-authority " + card.text("authority.pub"))
        let server = try session.ssh.startServer(admitting: "authorities")
        try server.signIn([], session.variables)
        // A key in a file is added together with its certificate.
        try session.makeKey("own")
        try card.succeed(
            ["ssh-keygen", "-q", "-s", card.path("authority"), "-I", "Jo", "-n", NSUserName(), card.path("own.pub")])
        try session.add(card.path("own"))
        #expect(try session.keys().count == 5)
        try server.signIn(["-o", "IdentitiesOnly=yes", "-i", card.path("own-cert.pub")], session.variables)
    }

    @Test func theSocketIsTheUsersAndEndsWithTheHost() throws {
        let session = try OwnAgent()
        func mode(_ path: String) throws -> UInt16 {
            var status = stat()
            try #require(lstat(path, &status) == 0)
            return UInt16(status.st_mode & 0o777)
        }
        #expect(try mode(session.socket) == 0o600)
        #expect(try mode(session.card.path("run/tokenkit")) == 0o700)
        session.host.stop()
        #expect(eventually { !FileManager.default.fileExists(atPath: session.socket) })
    }
}
