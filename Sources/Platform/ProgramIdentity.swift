internal import Glibc

/// One run of a program: a process from one `execve` to the next.
package struct ProgramRun: Hashable, Sendable {
    package let process: Int32
    /// In clock ticks since the machine's start.
    let startTime: UInt64
    /// Nil where the kernel does not show the file.
    let file: FileMark?

    /// - Returns: nil where there is no such process.
    package init?(of process: Int32) {
        guard let status = ProcessStatus(of: process) else { return nil }
        self.init(process, status, OpenExecutable(of: process)?.state.mark)
    }

    init(_ process: Int32, _ status: ProcessStatus, _ file: FileMark?) {
        (self.process, startTime, self.file) = (process, status.startTime, file)
    }
}

extension ProgramRun {
    /// A process and those that started it, itself first, as far as they are in its session: a shell, the script that called it. They are
    /// without the files that they run: a shell may run its last command in its own process.
    package static func chain(from process: Int32) -> [ProgramRun] {
        guard let first = ProcessStatus(of: process) else { return [] }
        var chain = [ProgramRun(process, first, nil)]
        var next = first.parent
        while chain.count < 32, let status = ProcessStatus(of: next), status.session == first.session,
            status.startTime <= first.startTime
        {
            chain.append(ProgramRun(next, status, nil))
            next = status.parent
        }
        return chain
    }
}

/// A program, the same in each process that runs it. Lasting decisions hold for it.
package enum ProgramID: Hashable, Sendable {
    /// A file that only root can change, by its path.
    case path(String)
    /// Any other file, by the digest of its content.
    case digest([UInt8])
    /// The same in another view of the file system, where a program's libraries may be anything.
    case contained(ProgramContainer, digest: [UInt8])
    /// Another machine in the place of a program, for which one of this machine asks, by a text that tells it from others.
    case machine(String)
}

/// The facts about the program of a process, as the kernel tells them. Those for people may be chosen by the program: its name, its path
/// where the user can write it, its script, and who started it.
package struct ProgramIdentity: Sendable {
    package let run: ProgramRun
    /// Nil where no lasting decision can hold: the file cannot be seen or read, or it is an interpreter, whose script decides.
    package let id: ProgramID?
    /// The name of the file, else that of the process. For people.
    package let name: String
    /// The path of the file, in the program's own view of the file system; nil where it cannot be seen. For people.
    package let path: String?
    package let container: ProgramContainer?
    /// The unit of the system's service manager that it runs in; nil for programs of users' sessions.
    package let unit: String?
    package let isInterpreter: Bool
    /// The script of an interpreter, as its arguments tell it. For people.
    package let script: String?
    /// The name of the program that started it, or that it has as a parent since that one ended. For people.
    package let starter: String?
    private let state: FileState?

    /// Computes the SHA-256 digest of a file's content; nil where it cannot be read.
    package typealias Digester = (borrowing OpenExecutable) -> [UInt8]?

    /// - Parameter user: the user who must not be able to write a program that is known by its path.
    /// - Returns: nil where the process has ended, or runs another program than when the handle was made.
    package init?(of handle: ProcessHandle, user: UInt32 = geteuid(), digest: Digester) {
        guard KernelFile.showsOwnNumbers, let status = ProcessStatus(of: handle.process) else { return nil }
        let identity = ProgramIdentity(handle.process, status, user, digest)
        guard identity.run == handle.run, handle.runsSameProgram else { return nil }
        self = identity
    }

    private init(_ process: Int32, _ status: ProcessStatus, _ user: UInt32, _ digest: Digester) {
        let link = Executable.link(of: process)
        let path = Executable.path(link: link)
        name = path.split(separator: "/").last.map(String.init) ?? status.name
        self.path = path.isEmpty ? nil : path
        starter = ProgramIdentity.name(of: status.parent)
        unit = KernelFile.text("/proc/\(process)/cgroup").flatMap(ProgramIdentity.unit(inGroups:))
        isInterpreter = Interpreter.isOne(name)
        script = isInterpreter ? KernelFile.bytes("/proc/\(process)/cmdline").flatMap(Interpreter.script) : nil
        guard let file = OpenExecutable(of: process) else {
            (run, id, container, state) = (ProgramRun(process, status, nil), nil, nil, nil)
            return
        }
        let container = ProgramContainer(of: process)
        (run, self.container, state) = (ProgramRun(process, status, file.state.mark), container, file.state)
        // A file system in user space can show one content and run another.
        if isInterpreter || file.isInUserSpace {
            id = nil
        } else if let container {
            id = digest(file).map { .contained(container, digest: $0) }
        } else if file.isRoots(link, against: user) {
            id = .path(link)
        } else {
            id = digest(file).map { .digest($0) }
        }
    }

    /// The unit in the text of `/proc/PID/cgroup`, cgroups(7). Only root puts processes into those of the system's manager.
    static func unit(inGroups text: String) -> String? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("0::/system.slice/") }) else {
            return nil
        }
        return line.split(separator: "/").first { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }.map(String.init)
    }

    private static func name(of process: Int32) -> String? {
        let name = Executable.name(of: process)
        return name.isEmpty ? ProcessStatus(of: process)?.name : name
    }

    /// Whether the process still runs the program: it has not ended, has executed no other file, and its file was not written to.
    package func isSame(_ handle: ProcessHandle, digest: Digester) -> Bool {
        guard run == handle.run else { return false }
        if let file = OpenExecutable(of: run.process), !isUnchanged(file, digest) { return false }
        return handle.runsSameProgram
    }

    /// Whether the file's content is the same. Only root writes a file that is known by its path.
    private func isUnchanged(_ file: borrowing OpenExecutable, _ digest: Digester) -> Bool {
        switch id {
        case nil, .path: true
        // No process is a machine.
        case .machine: false
        case .digest(let known), .contained(_, digest: let known): file.state == state || digest(file) == known
        }
    }
}
