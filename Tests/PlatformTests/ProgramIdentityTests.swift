import Foundation
import TestSupport
import Testing

@testable import Platform

/// The identity of a program, with the tricks by which a program could pass for another one.
@Suite struct ProgramIdentityTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func copy(_ name: String = "copy", adding addition: String = "") throws -> String {
        try RunningProgram.copySleep(to: folder.path(name), adding: addition)
        return folder.path(name)
    }

    private func run(_ path: String) throws -> RunningProgram {
        try RunningProgram([path, "600"], running: (path as NSString).lastPathComponent)
    }

    @Test func aProgramThatOnlyRootCanChangeIsKnownByItsPath() throws {
        let program = try run(RunningProgram.sleep)
        let identity = try program.identity
        #expect(identity.id == .path(RunningProgram.sleep))
        #expect((identity.name, identity.path) == ("sleep", RunningProgram.sleep))
        #expect(identity.container == nil && !identity.isInterpreter && identity.script == nil)
        #expect(identity.starter == Executable.name(of: getpid()))
        #expect(program.isSame(identity))
        // Root can change each program.
        let forRoot = try #require(ProgramIdentity(of: program.handle, user: 0, digest: RunningProgram.digest))
        guard case .digest = forRoot.id else {
            Issue.record("\(String(describing: forRoot.id))")
            return
        }
    }

    @Test func aCopiedProgramIsKnownByItsContentAlone() throws {
        let (one, other, changed) = try (run(copy("sleep")), run(copy("b")), run(copy("c", adding: "1")))
        let identity = try one.identity
        guard case .digest(let digest) = identity.id else {
            Issue.record("\(String(describing: identity.id))")
            return
        }
        #expect(identity.path == folder.path("sleep"))
        #expect(try other.identity.id == .digest(digest))
        #expect(try changed.identity.id != .digest(digest))
        #expect(!other.isSame(identity))
    }

    @Test func aProgramThatTheUserOverwroteIsAnotherOne() throws {
        let path = try copy()
        let former = try run(path).identity
        _ = try copy(adding: "1")
        let latter = try run(path).identity
        #expect(former.path == latter.path)
        #expect(former.id != latter.id)
    }

    @Test func aDeletedProgramIsKnownByTheContentThatItRuns() throws {
        let path = try copy()
        let program = try run(path)
        let identity = try program.identity
        try FileManager.default.removeItem(atPath: path)
        #expect(program.isSame(identity))
        #expect(try program.identity.id == identity.id)
        #expect(try program.identity.path == path)
        _ = try copy(adding: "1")
        #expect(program.isSame(identity))
        #expect(try program.identity.id == identity.id, "what is at the path now is not what runs")
    }

    /// The kernel marks a deleted file by such an end of its path.
    @Test func aFileThatIsNamedLikeADeletedOneIsItself() throws {
        _ = try copy("sleep")
        let path = try copy("sleep (deleted)", adding: "1")
        let program = try RunningProgram([path, "600"], running: "sleep")
        #expect(try program.identity.id != run(folder.path("sleep")).identity.id)
    }

    @Test func aProgramMountedOverAnotherIsNotThatOne() throws {
        let path = try copy(adding: "1")
        let script = "mount --bind \"$0\" \"$1\" && exec \"$1\" 600"
        let program = try RunningProgram(
            RunningProgram.inMountNamespace + ["sh", "-c", script, path, RunningProgram.sleep], running: "sleep")
        let identity = try program.identity
        #expect(identity.path == RunningProgram.sleep, "it looks like the system's")
        guard case .digest(let digest) = try run(path).identity.id else {
            Issue.record("the copy has no digest")
            return
        }
        #expect(identity.id == .contained(.other, digest: digest))
    }

    @Test func theSameProgramInAnotherMountNamespaceIsAnotherOne() throws {
        let program = try RunningProgram(
            RunningProgram.inMountNamespace + [RunningProgram.sleep, "600"], running: "sleep")
        let identity = try program.identity
        #expect(identity.container == .other)
        guard case .contained(.other, digest: _) = identity.id else {
            Issue.record("\(String(describing: identity.id))")
            return
        }
    }

    @Test func aProcessThatExecutesAnotherFileIsAnotherProgram() throws {
        let mark = folder.path("mark")
        let script = "while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$1\" 600"
        let program = try RunningProgram(["sh", "-c", script, mark, try copy()], running: shell)
        let identity = try program.identity
        #expect(program.isSame(identity))
        try folder.write("mark", "")
        let process = program.handle.process
        #expect(eventually { Executable.name(of: process) == "copy" })
        #expect(!program.isSame(identity))
        #expect(!program.handle.hasEnded)
        #expect(
            ProgramIdentity(of: program.handle, digest: RunningProgram.digest) == nil, "it connected as another one")
        let later = try #require(ProcessHandle(process))
        #expect(later.run != nil && later.run != identity.run)
        #expect(ProgramIdentity(of: later, digest: RunningProgram.digest)?.name == "copy")
    }

    private var shell: String { (resolvedPath("/bin/sh") as NSString?)?.lastPathComponent ?? "" }

    @Test func aProcessThatHasEndedIsNoProgram() throws {
        let program = try run(RunningProgram.sleep)
        let identity = try program.identity
        #expect(!program.handle.hasEnded)
        program.end()
        #expect(program.handle.hasEnded)
        #expect(!program.isSame(identity))
        #expect(ProgramIdentity(of: program.handle, digest: RunningProgram.digest) == nil)
        #expect(ProcessHandle(program.handle.process) == nil)
    }

    /// A number that was used again, under a handle of the process that had it before.
    @Test func aRecycledNumberIsAnotherProcess() throws {
        let program = try run(RunningProgram.sleep)
        let status = try #require(ProcessStatus(of: program.handle.process))
        let text = try String(contentsOfFile: "/proc/\(program.handle.process)/stat", encoding: .utf8)
        let later = text.replacingOccurrences(of: " \(status.startTime) ", with: " \(status.startTime + 1) ")
        let other = try #require(ProcessStatus(parsing: later))
        let file = try #require(OpenExecutable(of: program.handle.process)?.state.mark)
        #expect(ProgramRun(program.handle.process, status, file) == (try program.identity).run)
        #expect(ProgramRun(program.handle.process, other, file) != (try program.identity).run)
    }

    @Test func aSocketTellsTheProcessAtItsOtherEnd() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let handle = try #require(ProcessHandle(peerOf: ends[0]))
        #expect(handle.process == getpid() && !handle.hasEnded)
        #expect(fcntl(handle.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(ProcessHandle(peerOf: -1) == nil && ProcessHandle(0) == nil && ProcessHandle(-1) == nil)
    }

    // MARK: Interpreters

    @Test func aScriptIsToldAndNotIdentified() throws {
        let script = try folder.write("script.sh", "while :; do sleep 0.1; done\n")
        let program = try RunningProgram(["sh", script], running: shell)
        let identity = try program.identity
        #expect(identity.isInterpreter && identity.id == nil)
        #expect(identity.script == script)
        #expect(program.isSame(identity))
    }

    @Test(arguments: [
        ("python3.11", true), ("python", true), ("perl", true), ("node", true), ("java", true), ("sh", true),
        ("bash", true),
        ("dash", true), ("zsh", true), ("ruby3.1", true), ("ld-linux-x86-64.so.2", true), ("busybox", true),
        ("firefox", false), ("ssh", false), ("gpg", false), ("shred", false), ("pytest-less", false), ("", false),
    ])
    func interpretersAreKnownByName(name: String, isOne: Bool) {
        #expect(Interpreter.isOne(name) == isOne)
    }

    @Test(arguments: [
        (["python3", "-u", "/a/b.py", "-x"], "/a/b.py"), (["python3", "-m", "http.server"], "http.server"),
        (["java", "-Xmx1g", "-jar", "a.jar"], "a.jar"), (["sh", "-c", "exec evil"], nil), (["bash"], nil),
        (["bash", "-l"], nil), ([], nil), (["perl", "-e", "1"], nil), (["python3", "-m"], nil),
    ])
    func theScriptIsTheFirstArgumentThatIsNoOption(arguments: [String], script: String?) {
        #expect(Interpreter.script(arguments.flatMap { Array($0.utf8) + [0] }) == script)
    }

    // MARK: What the kernel tells

    @Test func aProcessCannotChangeItsStatusByItsName() throws {
        let rest = "S 7 8 9 34816 10 4194304 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
        for name in ["sleep", "a) S 1 (b", ")", "", "x\ny"] {
            let status = try #require(ProcessStatus(parsing: "42 (\(name)) \(rest)"))
            #expect((status.name, status.parent, status.group) == (name, 7, 8))
            #expect((status.terminal, status.foregroundGroup, status.startTime) == (34816, 10, 4711))
        }
        for text in ["", "42", "42 )(", "42 (a) S 7", "42 (a) S x 8 9 34816 10 0 0 0 0 0 0 0 0 0 20 0 1 0 4711"] {
            #expect(ProcessStatus(parsing: text) == nil)
        }
    }
}
