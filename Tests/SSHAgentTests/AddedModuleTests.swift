import HostAPI
import KeychainHost
import KeychainModel
import ModuleConfiguration
import PKCS11Driver
import Platform
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import SSHAgent

/// PKCS #11 modules of other makers in an agent.
@Suite struct AddedModuleTests {
    /// Runs one module under each path, and counts the hosts and the ends.
    private final class Runner: ModuleRunner {
        let hosts = Mutex(0)
        let ends = Mutex<[String]>([])
        private let module: any TokenModule

        init(_ module: any TokenModule) { self.module = module }

        func makeHost(ofModule path: String) -> any InProcessHost {
            hosts.withLock { $0 += 1 }
            let preferences = KeychainPreferences(
                directories: Directories(system: "/nonexistent") { ["HOME": "/nonexistent"][$0] })
            return Host(
                forModulesOf: ProcessKeychains(
                    preferences, drivers: { _ in [] }, modules: { [module] in [module] }, readers: { [] }),
                prompter: nil)
        }

        func end(_ path: String) { ends.withLock { $0.append(path) } }
    }

    private final class AlwaysFails: TokenModule {
        let name = "fails"
        let path: String? = nil
        let driver = "pkcs11"
        let readsCardsAlone = false

        func tokens() throws(TokenError) -> [ModuleSlot] { throw TokenError(.malformed, "it fails") }
    }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])

        func take(_ line: String) { lines.withLock { $0.append(line) } }

        /// The lines since the last call.
        var new: [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private let log = Log()

    private func agent(_ runner: Runner) -> Agent {
        Agent(Samples.emptyHost, modules: runner, log: { [log] in log.take($0) })
    }

    private func session(_ agent: Agent, _ runner: Runner) -> AgentSession {
        AgentSession(
            agent,
            for: AgentClient(
                named: "ssh-add", at: "/usr/bin/ssh-add", process: 1,
                { module, _ in module.map(runner.makeHost(ofModule:)) ?? Samples.emptyHost() },
                asking: { NoPrompter() }))
    }

    private func addition(_ path: String, pin: String = "", _ constraints: [KeyConstraint]? = nil) -> AgentRequest {
        .addModule(path: Array(path.utf8), pin: Samples.shared(Array(pin.utf8)), constraints)
    }

    private func keyCount(_ session: AgentSession) -> Int {
        guard case .identities(let identities) = session.answer(.listIdentities) else { return -1 }
        return identities.count
    }

    private func softHSM() throws -> (files: SoftHSM, runner: Runner) {
        let files = try SoftHSM([["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "one"]])
        let worker = WorkerProgram.tokenkitd(
            at: Program.host, for: "ssh-agent", environment: files.environment + ["PATH=/usr/bin:/bin"])
        return (files, Runner(PKCS11Module(ConfiguredModule(path: SoftHSM.path), worker: worker)))
    }

    @Test func refusalsSayWhy() throws {
        let runner = Runner(AlwaysFails())
        let (agent, link) = (agent(runner), try TemporaryFolder())
        let session = session(agent, runner)
        let module = try link.write("module.so", "")
        let reasons = [
            ("libsofthsm2.so", "give ssh-add the whole path"),
            ("/usr/lib/missing.so", "/usr/lib/missing.so is not there"),
            ("/usr/lib", "/usr/lib is no file"), ("/etc/passwd", "install it there"), (module, ""),
            (SoftHSM.path, "is not added: "),
        ]
        for (path, reason) in reasons {
            #expect(session.answer(addition(path)) == .failure)
            let lines = log.new
            #expect(lines.count == 1 && lines[0].hasPrefix("ssh-add, ssh agent: "), "\(lines)")
            #expect(lines.first?.contains(reason) == true, "\(lines)")
        }
        #expect(runner.ends.withLock { $0.count } == 1, "the module that was started")
        #expect(session.answer(.removeModule(path: Array("/usr/lib/a.so".utf8), pin: Samples.shared([]))) == .failure)
        #expect(log.new.count == 1)
        #expect(!agent.isInUse)
    }

    @Test func thisPackagesModuleMeansTheCards() {
        let runner = Runner(AlwaysFails())
        let session = session(agent(runner), runner)
        for name in ["tokenkit", "/usr/lib/pkcs11/libtokenkit-pkcs11.so", "/opt/libtokenkit-pkcs11-cards.so"] {
            #expect(session.answer(addition(name)) == .success)
            #expect(session.answer(addition(name, pin: "123456")) == .failure)
            #expect(log.new == ["ssh-add, ssh agent: no card is inserted"])
        }
        #expect(runner.hosts.withLock { $0 } == 0)
    }

    @Test(arguments: [
        ("/usr/lib/softhsm/libsofthsm2.so", true), ("/usr/lib64/a.so", true), ("/usr/local/lib/a.so", true),
        ("/usr/libexec/a.so", true), ("/usr/share/a.so", false), ("/usr/lib", false), ("/opt/usr/lib/a.so", false),
        ("/srv/a.so", false),
    ]) func modulesAreBelowTheFoldersOfOpenSSHsAgent(path: String, isTrusted: Bool) {
        #expect(ModuleFile.isTrusted(path) == isTrusted)
    }

    @Test func aModuleThatFailsHidesNoOtherKeysAndIsToldOnce() throws {
        let runner = Runner(AlwaysFails())
        let agent = agent(runner)
        let session = session(agent, runner)
        let (identity, _) = try Samples.newKey()
        #expect(session.answer(.add(identity, nil)) == .success)
        #expect(agent.modules?.add(AddedModule(path: "/module.so", limits: KeyLimits())) == true)
        for _ in 1...3 { #expect(keyCount(session) == 1) }
        #expect(log.new == ["ssh agent: the PKCS#11 module /module.so shows no keys: it fails"])
        #expect(agent.isInUse)
        #expect(session.answer(.removeAll) == .success)
        #expect(runner.ends.withLock { $0 } == ["/module.so"])
        #expect(!agent.isInUse)
    }

    @Test func aWrongPINIsTriedOnceAndAddsNothing() throws {
        let (files, runner) = try softHSM()
        let agent = agent(runner)
        let session = session(agent, runner)
        try withExtendedLifetime(files) {
            #expect(session.answer(addition(SoftHSM.path, pin: "654321")) == .failure)
            #expect(log.new.first?.contains("wrong PIN for 'soft in ") == true)
            #expect(session.answer(addition(SoftHSM.path, pin: "654321")) == .failure)
            let line = log.new.first
            #expect(line?.contains("refused this PIN before, so it was not sent again") == true, "\(line ?? "")")
            #expect(keyCount(session) == 0)
            #expect(session.answer(addition(SoftHSM.path, pin: "123456")) == .success)
            #expect(keyCount(session) == 1)
            #expect(log.new.isEmpty)
            let path = try #require(resolvedPath(SoftHSM.path))
            #expect(agent.modules?.all.map(\.path) == [path])
            #expect(session.answer(.removeModule(path: Array(path.utf8), pin: Samples.shared([]))) == .success)
            #expect(keyCount(session) == 0)
        }
    }

    @Test func aModuleInUseIsNotAskedForItsKeys() throws {
        let (files, runner) = try softHSM()
        let agent = agent(runner)
        let session = session(agent, runner)
        try withExtendedLifetime(files) {
            #expect(session.answer(addition(SoftHSM.path)) == .success)
            let module = try #require(agent.modules?.all.first)
            let count = runner.hosts.withLock { $0 }
            agent.modules?.using(module) { #expect(keyCount(session) == 1) }
            #expect(runner.hosts.withLock { $0 } == count)
            #expect(keyCount(session) == 1)
            #expect(runner.hosts.withLock { $0 } == count + 1)
        }
    }

    @Test func keysWithDestinationsAreShownOnTheirWayAlone() throws {
        let (files, runner) = try softHSM()
        let agent = agent(runner)
        try withExtendedLifetime(files) {
            let constraint = DestinationConstraint(from: .init(), to: .init(host: [0x61], keys: [.init([1])]))
            let session = session(agent, runner)
            #expect(session.answer(addition(SoftHSM.path, pin: "123456", [.destinations([constraint])])) == .success)
            #expect(keyCount(session) == 1)
            let blob = try #require(agent.hostedKeys.first?.blob)
            #expect(session.answer(.sign(key: blob, data: [1], flags: 0)) == .failure)
            let other = self.session(agent, runner)
            let bind = try Samples.bind(.generate(.ed25519), session: [1])
            #expect(other.answer(.extend(name: Array("session-bind@openssh.com".utf8), content: bind)) == .success)
            #expect(keyCount(other) == 0)
            #expect(other.answer(addition(SoftHSM.path)) == .failure)
        }
    }

    @Test func aLimitedNumberIsKeptAndEachEndsInItsTime() throws {
        let runner = Runner(AlwaysFails())
        let modules = try #require(agent(runner).modules)
        let soon = KeyLimits([.lifetime(seconds: 1)])
        for number in 1...AddedModules.maximumCount {
            #expect(modules.add(AddedModule(path: "/\(number).so", limits: number == 1 ? soon : KeyLimits())))
        }
        #expect(!modules.add(AddedModule(path: "/more.so", limits: KeyLimits())))
        #expect(eventually { runner.ends.withLock { $0 } == ["/1.so"] })
        #expect(modules.add(AddedModule(path: "/more.so", limits: KeyLimits())))
        #expect(modules.add(AddedModule(path: "/more.so", limits: KeyLimits())), "the same again")
        #expect(runner.ends.withLock { $0.count } == 1)
    }
}
