import Foundation
import SystemCrypto
import TestSupport
import Testing

/// OpenSSH's programs on other machines, to which the SSH agent of the session's host is forwarded.
@Suite struct ForwardedAgentTests {
    private let session: OwnAgent
    private var card: ConsumerCard { session.card }

    init() throws { session = try OwnAgent() }

    /// A server whose name the user knows.
    private func startServer(_ name: String, admitting key: String = "9A.pub") throws -> OpenSSHCard.Server {
        let server = try session.ssh.startServer(admitting: key, named: name)
        try? FileManager.default.createDirectory(
            atPath: card.path("home/.ssh"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let known = (try? card.text("home/.ssh/known_hosts")) ?? ""
        try card.folder.write("home/.ssh/known_hosts", known + "\(name) " + card.text(name + ".pub"))
        return server
    }

    /// The command that signs with a key of the agent.
    private func sign(_ key: String = "9A.pub") -> [String] { ["ssh-add", "-T", card.path(key)] }

    /// The questions about another machine so far.
    private func questions() throws -> [String] { try card.pinentryPermissions.filter { $0.contains("%0AFrom: ") } }

    /// Runs a command that has to succeed, and returns the questions about another machine that it led to.
    private func questions(
        of command: [String], at location: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        let former = try questions().count
        try card.succeed(command, session.variables, at: location)
        return try Array(questions().dropFirst(former))
    }

    private struct Decision: Decodable {
        let program: String?
        let item: String
        let isAllowed, isLasting: Bool
    }

    private func decisions() throws -> [Decision] {
        try JSONDecoder().decode([Decision].self, from: Data(session.tokenctl("access", "--json").utf8))
    }

    /// The machines that are allowed a key of the card until the host ends, each with the key, as the command lists them.
    private func allowedMachines() throws -> [String] {
        try decisions().filter { $0.isAllowed && !$0.isLasting && $0.program?.hasPrefix("machine ") == true }.map {
            "\($0.program?.dropFirst("machine ".count) ?? "") \($0.item.split(separator: " ")[1])"
        }
    }

    @Test func tellsOfAMachineThatItIsForwardedTo() throws {
        defer { session.host.stop() }
        let server = try session.ssh.startServer(admitting: "9A.pub")
        let here = server.forwarding(server.command([]))
        #expect(try card.succeed(here, session.variables).contains("the other side"))
        let permissions = try card.pinentryPermissions
        #expect(permissions.contains { $0.contains("From: host ED25519 SHA256:") }, "\(permissions)")
        #expect(try card.pinentryQuestions.count == 1)
        // A person who does not agree is not asked by another way.
        try card.folder.writeProgram("pinentry", "exit 1")
        try card.fail(here, session.variables)
    }

    @Test func aMachineMayBeAllowedAlways() throws {
        defer { session.host.stop() }
        try card.writePinentry(allowingAlways: true)
        let (build, other) = (try startServer("build7"), try startServer("other"))
        let asked = try questions(of: build.forwarding(other.command([])))
        #expect(asked.count == 2, "the question, and that before the answer holds from now on: \(asked)")
        #expect(asked.first?.hasPrefix("Another machine wants to sign with a key.%0ATo: log in with ssh as ") == true)
        #expect(asked.last?.hasPrefix("Always allow this machine to sign with a key, without a question?") == true)
        #expect(
            asked.allSatisfy { $0.contains(" at other (ED25519 SHA256:") && $0.contains("%0AFrom: build7%0AKey: ") })
        #expect(try questions(of: build.forwarding(other.command([]))).isEmpty)
        #expect(try questions(of: build.forwarding(sign())).isEmpty)
        // It is the machine's, and that key's.
        #expect(try questions(of: other.forwarding(sign())).count == 2)
        #expect(try questions(of: build.forwarding(sign("9C.pub"))).count == 2)
        #expect(try session.tokenctl("access").contains("the host ends"))
        #expect(try allowedMachines() == ["build7 9A", "other 9A", "build7 9C"])
        #expect(try session.tokenctl("access", "reset", "--program", "machine build7") == "2 decisions forgotten.\n")
        #expect(try allowedMachines() == ["other 9A"])
        #expect(try questions(of: other.forwarding(sign())).isEmpty)
        #expect(try questions(of: build.forwarding(sign())).count == 2)
        try session.tokenctl("access", "reset", "9A")
        #expect(try allowedMachines().isEmpty)
        #expect(try questions(of: build.forwarding(sign())).count == 2)
        try session.tokenctl("access", "reset", "--all")
        #expect(try session.tokenctl("access", "--json") == "[]\n")
    }

    @Test func anAllowanceIsForTheWholeWay() throws {
        defer { session.host.stop() }
        try card.writePinentry(allowingAlways: true)
        let (first, last) = (try startServer("first"), try startServer("last"))
        let way = first.forwarding(last.forwarding(sign()))
        let asked = try questions(of: way)
        #expect(
            asked.map { $0.contains("%0AFrom: last, over first%0A") } == [false, false, true, true],
            "the first machine's login at the last one, and the last one's signature: \(asked)")
        #expect(try questions(of: way).isEmpty)
        #expect(try session.tokenctl("access", "reset", "--program", "machine first") == "1 decision forgotten.\n")
        // The last machine over the first one is neither of the two, nor the first over the last.
        #expect(try questions(of: last.forwarding(sign())).count == 2)
        #expect(try questions(of: first.forwarding(sign())).count == 2)
        let back = try questions(of: last.forwarding(first.forwarding(sign())))
        #expect(back.count == 2 && back.allSatisfy { $0.contains("%0AFrom: first, over last%0A") }, "\(back)")
        // Both are allowed, and a way over them to a third machine is not.
        let third = try startServer("third")
        let longer = try questions(of: first.forwarding(last.forwarding(third.forwarding(sign()))))
        #expect(longer.count == 2 && longer.allSatisfy { $0.contains("From: third, over last, over first%0A") })
        #expect(try questions(of: way).isEmpty)
    }

    @Test func aMachineThatLiesIsAskedAbout() throws {
        defer { session.host.stop() }
        try card.writePinentry(allowingAlways: true)
        let server = try startServer("build7")
        func forwarded(_ lie: String) -> [String] {
            server.forwarding(["/usr/bin/python3", OwnAgent.script("lying-machine"), card.path("9A.pub"), lie])
        }
        #expect(try questions(of: forwarded("none")).count == 2)
        #expect(try card.succeed(forwarded("none"), session.variables).contains("signed"))
        for lie in ["garbage", "unproved", "other"] {
            let former = try questions().count
            let said = try card.run(forwarded(lie), session.variables).text
            // Nothing is offered for later, so that the first answer of this person is a denial.
            #expect(said.contains("refused"), "\(lie): \(said)")
            let asked = try questions().dropFirst(former)
            #expect(
                asked.count == 1 && asked.last?.contains("From: build7, and an unknown machine%0A") == true, "\(asked)")
            #expect(asked.last?.contains("To: sign data of no known form with ssh%0A") == true)
            // The person's answers are counted in pairs.
            try card.folder.write("permissions", "")
        }
        #expect(try questions(of: forwarded("none")).isEmpty)
    }

    /// OpenSSH's rules for keys with destinations, on a way over two machines: ssh-add(1), "-h".
    @Test func aKeyWithDestinationsIsUsedOnTheWayThatItIsFor() throws {
        defer { session.host.stop() }
        try session.makeKey("own")
        let (first, last) = (
            try startServer("first", admitting: "own.pub"), try startServer("last", admitting: "own.pub")
        )
        let chosen = ["-o", "IdentitiesOnly=yes", "-i", card.path("own.pub")]
        func restrict(_ destinations: String...) throws {
            let options = ["-H", card.path("home/.ssh/known_hosts")] + destinations.flatMap { ["-h", $0] }
            try card.succeed(["ssh-add"] + options + [card.path("own")], session.variables)
        }
        /// Signs in at the first machine, and from there with the agent forwarded.
        func over(_ next: OpenSSHCard.Server, _ other: [String] = ["echo", "far away"]) -> [String] {
            first.command(chosen + ["-A"], OpenSSHCard.Server.quoted(next.forwarding(other, chosen)))
        }
        func isFar(_ command: [String]) throws -> Bool {
            try card.run(command, session.variables).text.contains("far away")
        }
        let list = ["sh", "-c", "ssh-add -L; echo far away"]
        func lists(_ command: [String]) throws -> Bool {
            let said = try card.run(command, session.variables).text
            #expect(said.contains("PIV Authentication") && said.contains("far away"), "\(said)")
            return said.contains(" own\n") || said.contains("ssh-ed25519 ")
        }
        try restrict("first", "first>last")
        try first.signIn(chosen, session.variables)
        try last.refuse(chosen, session.variables)
        #expect(try isFar(over(last)))
        #expect(try !isFar(over(first)))
        #expect(try lists(first.command(chosen + ["-A"], OpenSSHCard.Server.quoted(list))))
        #expect(try !lists(over(last, list)), "the last machine leads nowhere with it")
        #expect(try !isFar(over(last, last.forwarding(["echo", "far away"], chosen))))
        try restrict("first", "first>nobody@last")
        #expect(try !isFar(over(last)))
        try restrict("first", "first>\(NSUserName().prefix(1))*@last")
        #expect(try isFar(over(last)))
        // Without a first step, the key is of no use beyond it.
        try restrict("first>last")
        try first.refuse(chosen, session.variables)
        #expect(try card.pinentryPermissions.isEmpty, "added keys ask for nothing")
    }

    /// Decisions about a keychain's items are about what its password opens.
    @Test func aMachineIsAllowedAKeyOfAKeychain() throws {
        defer { session.host.stop() }
        try card.writePinentry(allowingAlways: true)
        let server = try startServer("build7")
        try session.createKeychain()
        try session.makeKey("own")
        try session.tokenctl("ssh", "add", "--keep", card.path("own"))
        try session.tokenctl("lock-keychain")
        let command = server.forwarding(sign("own.pub"))
        #expect(try questions(of: command).count == 2)
        #expect(try card.pinentryQuestions.count == 2, "for the card, to log in, and for the keychain")
        #expect(try decisions().filter { $0.program == "machine build7" }.map(\.isLasting) == [true])
        #expect(try questions(of: command).isEmpty)
        // Its decisions are sealed while it is locked.
        try session.tokenctl("lock-keychain")
        #expect(try questions(of: command).count == 2)
        #expect(try questions(of: command).isEmpty)
        #expect(try session.tokenctl("access", "reset", "--program", "machine build7") == "1 decision forgotten.\n")
        #expect(try questions(of: command).count == 2)
    }
}
