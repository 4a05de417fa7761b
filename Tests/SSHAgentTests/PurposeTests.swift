import HostAPI
import SystemCrypto
import Testing

@testable import SSHAgent

/// The words in which a person is told what a signature is for.
@Suite struct PurposeTests {
    private let key: PrivateKey
    private let blob: [UInt8]
    private let description: String

    init() throws {
        key = try PrivateKey.generate(.ed25519)
        blob = try key.publicKey.openSSH()
        description = "ED25519 " + SSHPublicKey.fingerprint(of: blob)
    }

    private func words(_ data: [UInt8], _ binds: SessionBinds = SessionBinds(), known: String = "") -> String {
        Purpose(of: SignedData(data), binds, KnownHosts(Array(known.utf8))).words
    }

    private func line(_ names: String) -> String { "\(names) ssh-ed25519 \(Base64.encode(blob)) comment\n" }

    @Test func aLoginNamesUserAndHost() throws {
        let login = Samples.login(session: [1], user: "git", key: [2], hostKey: blob)
        #expect(words(login) == "log in with ssh as 'git' at host \(description)")
        #expect(
            words(login, known: line("github.com,192.0.2.1"))
                == "log in with ssh as 'git' at github.com (\(description))"
        )
        #expect(words(login, known: line("*.example,[build]:22")).contains(" at [build]:22 ("))
        for names in ["|1|salt|hash", "@revoked *", "@cert-authority github.com", "#github.com", "*"] {
            #expect(words(login, known: line(names)) == "log in with ssh as 'git' at host \(description)", "\(names)")
        }
        let older = Samples.login(session: [1], user: "git", key: [2])
        #expect(words(older) == "log in with ssh as 'git'")
        let binds = ConnectionBinds()
        #expect(try binds.bind(Samples.bind(key, session: [1])))
        #expect(words(older, binds.value) == "log in with ssh as 'git' at host \(description)")
    }

    @Test func aForwardedRequestNamesTheMachine() throws {
        let binds = ConnectionBinds()
        #expect(try binds.bind(Samples.bind(key, session: [1], isForwarding: true)))
        let commit = Samples.fileSignature(namespace: "git")
        #expect(words(commit) == "sign a git commit or tag with ssh (namespace 'git')")
        #expect(words(commit, binds.value, known: line("build7")).hasSuffix(", forwarded from build7"))
        #expect(words(commit, binds.value).hasSuffix(", forwarded from host \(description)"))
        let shop = try PrivateKey.generate(.ecP256)
        #expect(try binds.bind(Samples.bind(shop, session: [2], isForwarding: true)))
        let last = "host ECDSA \(SSHPublicKey.fingerprint(of: try shop.publicKey.openSSH()))"
        #expect(words(commit, binds.value, known: line("build7")).hasSuffix(", forwarded from \(last), over build7"))
        let failed = ConnectionBinds()
        var content = try Samples.bind(key, session: [1], isForwarding: true)
        content[content.count - 3] ^= 1
        #expect(!failed.bind(content))
        #expect(words(commit, failed.value).hasSuffix(", forwarded from an unknown machine"))
    }

    @Test func otherSignaturesSayWhatTheyAre() {
        #expect(words(Samples.fileSignature(namespace: "file")) == "sign a file with ssh (namespace 'file')")
        #expect(words([]) == "sign data of no known form with ssh")
        for length in 0..<60 {
            let login = Samples.login(session: [1], key: [2], hostKey: blob)
            #expect(SignedData(Array(login.prefix(length))) == .other)
        }
    }

    /// Names come from other machines: each stays within its quotation marks, and one short line.
    @Test func namesCannotLookLikeTheQuestion() {
        func user(_ name: String) -> String { words(Samples.login(session: [1], user: name, key: [2])) }
        #expect(user("jo\nKey: other\u{202E}") == #"log in with ssh as 'jo\0AKey: other\E2\80\AE'"#)
        #expect(user("jo' at bank (ED25519 SHA256:x)") == #"log in with ssh as 'jo\27 at bank (ED25519 SHA256:x)'"#)
        #expect(user(#"jo\27"#) == #"log in with ssh as 'jo\5C27'"#)
        #expect(user("é🔑") == "log in with ssh as 'é🔑'")
        #expect(user("") == "log in with ssh as ''")
        #expect(user(String(repeating: "x", count: 300)).hasSuffix("xx…'"))
        #expect(user(String(repeating: "\u{7F}", count: 300)).count < 120)
        #expect(
            words(Samples.fileSignature(namespace: "git') as root")).hasSuffix(
                #"a file with ssh (namespace 'git\27) as root')"#))
    }

    @Test func theQuestionHasALineForEachText() throws {
        let binds = ConnectionBinds()
        #expect(try binds.bind(Samples.bind(key, session: [1], isForwarding: true)))
        let login = SignedData(Samples.login(session: [1], user: "git", key: [2], hostKey: blob))
        let client = AgentClient(
            named: "ssh", at: "/usr/bin/ssh\u{1B}", process: 1, { _, _ in Samples.emptyHost() },
            asking: { NoPrompter() })
        let question = UseQuestion(
            purpose: Purpose(of: login, binds.value, KnownHosts(Array(line("build7").utf8))), key: "card\nTo: nothing",
            client: client)
        #expect(
            question.lines == [
                "Allow one use of a key with ssh?", "To: log in with ssh as 'git' at build7 (\(description))",
                "From: build7", #"Key: card\0ATo: nothing"#, "Program: ssh", #"File: /usr/bin/ssh\1B"#,
            ])
        let lines = question.ofMachine(offersAlways: true).lines
        #expect(lines[0] == "Another machine wants to sign with a key.")
        #expect(lines.dropFirst() == question.lines.dropFirst())
    }

    /// A person who cannot see all machines on the way allows them nothing for later.
    @Test func nothingIsOfferedForLaterAboutAMachineThatIsNotShown() throws {
        let client = AgentClient(
            named: "ssh", at: "/ssh", process: 1, { _, _ in Samples.emptyHost() }, asking: { NoPrompter() })
        func offersAlways(_ binds: ConnectionBinds, known: String = "") -> Bool {
            let purpose = Purpose(of: .other, binds.value, KnownHosts(Array(known.utf8)))
            let question = UseQuestion(purpose: purpose, key: "key", client: client)
            #expect(!question.ofMachine(offersAlways: false).offersAlways)
            return question.ofMachine(offersAlways: true).offersAlways
        }
        let way = ConnectionBinds()
        for number in 1...2 as ClosedRange<UInt8> {
            #expect(try way.bind(Samples.bind(key, session: [number], isForwarding: true)))
            #expect(offersAlways(way))
        }
        for number in 3...16 as ClosedRange<UInt8> {
            #expect(try way.bind(Samples.bind(key, session: [number], isForwarding: true)))
        }
        #expect(!offersAlways(way))
        #expect(offersAlways(way, known: line("b")))
    }
}
