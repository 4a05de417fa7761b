import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The shared host of a session, which is stopped, replaced and killed while programs use it.
@Suite struct SharedHostTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let program: String
    private let host: SessionHost

    init() throws {
        folder = try TemporaryFolder()
        environment = ModuleProgram.environment(in: folder).merging(["PCSCLITE_CSOCK_NAME": folder.path("none")]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
        program = try ModuleProgram.compile("shared", in: folder)
        host = SessionHost(in: folder, environment)
    }

    private func run(
        _ task: String, _ variables: [String: String] = [:],
        granting grant: @escaping @Sendable (String) throws -> Void = { _ in }
    ) throws -> ProgramResult {
        try ModuleProgram.run(
            program, [task], in: folder, service: folder.path("none"), variables, granting: grant)
    }

    @Test func programsShareTheHostAndNotTheirLogins() throws {
        try host.start()
        defer { host.stop() }
        let count = Mutex(1)
        let result = try run("use") { [self] _ in
            let other = try Program.run([program, ModuleProgram.module, "log-in"], environment: environment)
            #expect(other.status == 0, "\(other)")
            count.withLock { $0 = host.privateHosts }
        }
        #expect(result.status == 0, "\(result)")
        #expect(count.withLock { $0 } == 0)
    }

    /// A card's listing is valid for a few seconds, which a busy machine may need for one listing.
    @Test func aCardThatAnotherProgramHasListedIsListedWithoutACommand() throws {
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        var environment = environment
        environment["PCSCLITE_CSOCK_NAME"] = holder.daemon.socketPath
        let host = SessionHost(in: folder, environment)
        try host.start()
        defer { host.stop() }
        func list() throws -> (text: String, commands: Int) {
            let before = holder.link.commandCount
            let result = try Program.run(
                ["pkcs11-tool", "--module", ModuleProgram.module, "--list-objects"], environment: environment)
            #expect(result.status == 0, "\(result)")
            return (result.text, holder.link.commandCount - before)
        }
        let first = try list()
        #expect(first.commands > 0 && first.text.contains("X.509"))
        let costsNothing = try eventually {
            let next = try list()
            #expect(next.text == first.text)
            return next.commands == 0
        }
        #expect(costsNothing)
    }

    @Test func aProgramWithOtherKeychainsHasAHostOfItsOwn() throws {
        try host.start()
        defer { host.stop() }
        let count = Mutex(0)
        let result = try run("use", ["TOKENKIT_PINPAD": "no"]) { [host] _ in
            count.withLock { $0 = host.privateHosts }
        }
        #expect(result.status == 0, "\(result)")
        #expect(count.withLock { $0 } == 1)
    }

    @Test func aHostThatIsReplacedServesTheProgramsThatItHas() throws {
        try host.start()
        defer { host.stop() }
        let former = try #require(try host.process)
        let result = try run("replace") { [self] _ in
            host.stop()
            #expect(try eventually { try host.process == nil })
            try host.start()
            #expect(kill(former, 0) == 0)
        }
        #expect(result.status == 0, "\(result)")
        #expect(try host.process != former)
        #expect(eventually { kill(former, 0) != 0 })
    }

    @Test func aHostThatIsKilledTakesItsHandlesWithItAndNothingElse() throws {
        try host.start()
        let former = try #require(try host.process)
        let result = try run("kill") { _ in
            kill(former, SIGKILL)
            #expect(eventually { kill(former, 0) != 0 })
        }
        #expect(result.status == 0, "\(result)")
        // The files that it left do not hinder the next host.
        try host.start()
        defer { host.stop() }
        #expect(try host.process != nil)
    }

    /// An upgrade replaces the program of a host that runs on.
    @Test func aHostWhoseFileIsGoneIsKnownAndStopped() throws {
        let copy = folder.path("tokenkitd")
        // By another program: what a test beside this one starts could inherit a descriptor that writes the copy, which could then
        // not be run (ETXTBSY).
        try #require(try Program.run(["cp", Program.host, copy]).status == 0)
        let nothing = try FileHandle(forUpdating: URL(filePath: "/dev/null"))
        let process = try ChildProcess(
            [copy], environment: environment, streams: Array(repeating: nothing.fileDescriptor, count: 3))
        defer {
            kill(process.identifier, SIGKILL)
            process.wait()
            try? nothing.close()
        }
        #expect(try eventually { try host.process == process.identifier })
        try FileManager.default.removeItem(atPath: copy)
        #expect(try host.process == process.identifier)
        let result = try Program.run([Program.command, "host", "stop"], environment: environment)
        #expect(result.status == 0, "\(result)")
        #expect(try host.process == nil)
    }

    /// The host is stopped and its queue is full, so that one more program would wait in connect(2) without end.
    @Test func aHostThatDoesNotAnswerHoldsNoCommandAndIsNotSaidToHaveStopped() throws {
        try host.start()
        let process = try #require(try host.process)
        kill(process, SIGSTOP)
        defer {
            kill(process, SIGKILL)
            kill(process, SIGCONT)
        }
        let stopping = try Program.run([Program.command, "host", "stop"], environment: environment)
        #expect(stopping.status == 1 && "\(stopping)".contains("the host has not stopped"), "\(stopping)")
        let script = """
            import socket, subprocess, sys
            waiting = []
            while True:
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                try: one.connect(sys.argv[1])
                except BlockingIOError: break
                waiting.append(one)
            sys.exit(subprocess.run(sys.argv[2:]).returncode)
            """
        for (command, status, text) in [
            ("status", 0, "does not answer"), ("stop", 1, "does not answer"), ("start", 0, "already"),
        ] {
            let result = try Program.run(
                ["python3", "-c", script, host.socket, Program.command, "host", command], environment: environment)
            #expect(result.status == status && "\(result)".contains(text), "\(result)")
        }
    }

    /// A folder that others can enter is not trusted.
    @Test func aSocketInAFolderOfOthersIsNotUsed() throws {
        try host.start()
        defer { host.stop() }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.path("tokenkit"))
        let count = Mutex(0)
        let result = try run("use") { [host] _ in count.withLock { $0 = host.privateHosts } }
        #expect(result.status == 0, "\(result)")
        #expect(count.withLock { $0 } == 1)
    }

    /// The host is started as a service manager does it, sd_listen_fds(3).
    @Test func aHostServesTheSocketThatIsHandedIn() throws {
        let socket = folder.path("tokenkit/host")
        let script = """
            import os, socket, sys
            os.makedirs(os.path.dirname(sys.argv[1]), 0o700, exist_ok=True)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(sys.argv[1])
            listener.listen()
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
            os.execv(sys.argv[2], sys.argv[2:])
            """
        let nothing = try FileHandle(forUpdating: URL(filePath: "/dev/null"))
        let process = try ChildProcess(
            ["python3", "-c", script, socket, Program.host], environment: environment,
            streams: Array(repeating: nothing.fileDescriptor, count: 3))
        defer {
            kill(process.identifier, SIGTERM)
            process.wait()
            try? nothing.close()
        }
        #expect(eventually { FileManager.default.fileExists(atPath: socket) })
        let count = Mutex(1)
        let result = try run("use") { [host] _ in count.withLock { $0 = host.privateHosts } }
        #expect(result.status == 0, "\(result)")
        #expect(count.withLock { $0 } == 0)
    }
}
