import Foundation
import HostAPI
import HostConnection
import KeychainModel
import SecureBytes
import TestSupport
import Testing
import VirtualCard

/// The session's host, on a bus of the test's own with a stand-in for logind.
@Suite struct LoginEventTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let bus: TestBus
    private let logind: StandInLogind

    private static let session = "/org/freedesktop/login1/session/_31"

    init() throws {
        folder = try TemporaryFolder()
        environment = ModuleProgram.environment(in: folder).merging(["PCSCLITE_CSOCK_NAME": folder.path("none")]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
        bus = try TestBus(in: folder)
        logind = try StandInLogind(on: bus)
        try logind.perform("add \(Self.session) \(geteuid()) seat0 user 0")
    }

    /// Runs a command where the test's bus is the system's.
    private func run(_ command: String..., environment: [String: String]? = nil) throws -> ProgramResult {
        let mounts = #"mount -t tmpfs tmpfs /run; mkdir /run/dbus; mount --bind "$0" /run/dbus; exec "$@""#
        // The command has the user's number, by which logind knows the session, and not root's right to mount.
        let (own, without) =
            geteuid() == 0
            ? ([], [])
            : (["--user", "--map-current-user", "--keep-caps"], ["setpriv", "--inh-caps=-all", "--ambient-caps=-all"])
        return try Program.run(
            ["unshare"] + own + ["--mount", "sh", "-euc", mounts, folder.path] + without + command,
            environment: environment ?? self.environment)
    }

    /// A person who types the keychain's password.
    private struct Person: Prompter {
        let canAsk = true
        let canAskAgain = true

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            var password = Array("open".utf8)
            return Secret(consuming: &password)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    /// The host's clients, with the keychain unlocked in each.
    private struct Clients {
        let services: [any KeychainService]
        let keychain: KeychainIdentifier
        let context = RequestContext(questions: .byClient)

        var areUnlocked: [Bool] {
            get throws {
                try services.map { try $0.keychain(keychain, context).keychain.status.contains(.unlocked) }
            }
        }
    }

    /// Runs `body` with two programs of the session's host, which watches the bus.
    private func withClients(_ body: (Clients) throws -> Void) throws {
        let started = try run(Program.command, "host", "start")
        try #require(started.status == 0, "\(started)")
        defer { SessionHost(in: folder, environment).stop() }
        try #require(try eventually { try logind.delayCount == 1 })
        let connections = try (0..<2).map { _ in
            let client = SocketClient(
                of: [.session(folder.path)], prompter: Person(),
                environment: environment.map { Array("\($0)=\($1)".utf8) })
            try client.connect()
            return client
        }
        let services = connections.map(\.service)
        let keychain = try #require(try services[0].keychains(RequestContext()).found.first)
        let clients = Clients(services: services, keychain: keychain.identifier)
        for service in services { try service.unlock(clients.keychain, clients.context) }
        #expect(try clients.areUnlocked == [true, true])
        try withExtendedLifetime(connections) { try body(clients) }
    }

    private static let locks = ["hint \(session) 1", "lock \(session)"]

    @Test func keychainsLockForAllProgramsWhenTheUserLeaves() throws {
        try withClients { clients in
            try logind.perform("remove \(Self.session)")
            #expect(try eventually { try clients.areUnlocked == [false, false] })
        }
    }

    /// Which items can be read behind a locked screen is a setting of each.
    @Test(arguments: locks) func aLockedScreenLocksNoKeychain(event: String) throws {
        try withClients { clients in
            try logind.perform(event)
            // The next event shows that the host has had the first one.
            try logind.perform("sleep 1")
            #expect(try eventually { try logind.delayCount == 0 })
            #expect(try clients.areUnlocked == [true, true])
        }
    }

    @Test(arguments: locks + ["remove \(session)", "sleep 1"]) func aCardForgetsItsPIN(event: String) throws {
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        var environment = environment
        let relay = try CardServiceRelay(to: holder.daemon.socketPath, in: folder)
        defer { withExtendedLifetime(relay) {} }
        environment["PCSCLITE_CSOCK_NAME"] = relay.path
        environment["TOKENKIT_HOST"] = "session"
        let started = try run(Program.command, "host", "start", environment: environment)
        try #require(started.status == 0, "\(started)")
        let host = SessionHost(in: folder, environment)
        defer { host.stop() }
        try #require(try eventually { try logind.delayCount == 1 })
        environment["CARD_PIN"] = "123456"
        try folder.write("message", "message")
        let sign = [
            Program.command, "sign", "-k", "9A", "-o", folder.path("signature"), folder.path("message"), "--pin-source",
            "env:CARD_PIN",
        ]
        let signed = try Program.run(sign, environment: environment)
        try #require(signed.status == 0, "\(signed)")
        let commands = holder.link.commandCount
        try logind.perform(event)
        #expect(eventually { holder.link.commandCount > commands })
    }

    @Test func aModuleInTheAgentForgetsItsPIN() throws {
        let softHSM = try SoftHSM([["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "one"]])
        var environment = environment
        for variable in softHSM.environment {
            let parts = variable.split(separator: "=", maxSplits: 1).map(String.init)
            environment[parts[0]] = parts[1]
        }
        environment["TOKENKIT_HOST"] = "session"
        environment["SSH_AUTH_SOCK"] = try #require(environment["XDG_RUNTIME_DIR"]) + "/tokenkit/ssh.sock"
        environment["SSH_ASKPASS"] = folder.path("askpass")
        environment["SSH_ASKPASS_REQUIRE"] = "force"
        environment["PINENTRY_PROGRAM"] = folder.path("pinentry")
        try folder.writeProgram("askpass", "echo 123456")
        try folder.writeProgram(
            "pinentry",
            """
            echo OK ready
            while read -r command text; do
                case $command in
                    CONFIRM) echo CONFIRM >>'\(folder.path("asked"))' ;;
                    GETPIN) echo GETPIN >>'\(folder.path("asked"))'; echo 'D 123456' ;;
                    BYE) exit ;;
                esac
                echo OK
            done
            """)
        // The command would not give the host the module's variables.
        let started = try run(
            "sh", "-c", "\"$0\" </dev/null >/dev/null 2>&1 &", Program.host, environment: environment)
        try #require(started.status == 0, "\(started)")
        let host = SessionHost(in: folder, environment)
        defer { host.stop() }
        try #require(try eventually { try logind.delayCount == 1 })
        let added = try Program.run(["ssh-add", "-s", SoftHSM.path], environment: environment)
        guard geteuid() == 0 else {
            // In the user namespace root has no number, and nothing shows that the module is root's.
            #expect(added.status == 1, "\(added)")
            return
        }
        try #require(added.status == 0, "\(added)")
        let key = try folder.write("key.pub", Program.run(["ssh-add", "-L"], environment: environment).text)
        func questions() throws -> [String] {
            try folder.write("asked", "")
            let signed = try Program.run(["ssh-add", "-T", key], environment: environment)
            #expect(signed.status == 0, "\(signed)")
            return try String(contentsOfFile: folder.path("asked"), encoding: .utf8).split(separator: "\n").map(
                String.init)
        }
        #expect(try questions() == ["CONFIRM"])
        try logind.perform(Self.locks[0])
        #expect(try eventually { try questions() == ["GETPIN"] })
        #expect(try questions() == ["CONFIRM"])
    }

    @Test func aKeychainThatLocksOnSleepIsLockedBeforeTheMachineSleeps() throws {
        try withClients { clients in
            try logind.perform("sleep 1")
            #expect(try eventually { try logind.delayCount == 0 })
            #expect(try clients.areUnlocked == [true, true])
            try logind.perform("sleep 0")
            #expect(try eventually { try logind.delayCount == 1 })
            try clients.services[0].configure(
                clients.keychain, KeychainSettings(locksOnSleep: true), clients.context)
            try logind.perform("sleep 1")
            #expect(try eventually { try logind.delayCount == 0 })
            #expect(try clients.areUnlocked == [false, false])
        }
    }

    /// A host of one program ends with it.
    @Test func aPrivateHostWatchesNothing() throws {
        let result = try run(Program.command, "list-keychains")
        #expect(result.status == 0, "\(result)")
        _ = try logind.delayCount
        #expect(logind.watcher == nil)
    }
}
