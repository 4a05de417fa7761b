internal import CLinux
internal import Glibc
internal import Platform
internal import SecureBytes

/// One run of a worker. The worker ends with this object.
final class WorkerProcess: Sendable {
    private let process: pid_t
    private let socket: MessageSocket

    /// - Throws: ``ModuleFailure`` where the program cannot be started.
    init(_ program: WorkerProgram, module: String) throws(ModuleFailure) {
        var descriptors: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &descriptors) == 0 else {
            throw ModuleFailure(code: 0, what: "no socket for its process (error \(errno))")
        }
        // A lower number may be that of a stream which the host has closed, and the worker's own output would go there.
        descriptors = descriptors.map { Descriptor.moved($0, to: ModuleWorker.descriptor + 1) }
        guard !descriptors.contains(-1) else {
            let code = errno
            for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
            throw ModuleFailure(code: 0, what: "no socket for its process (error \(code))")
        }
        defer { close(descriptors[1]) }
        guard let path = Environment.program(program.path) else {
            close(descriptors[0])
            throw ModuleFailure(
                code: 0, what: "its process \(program.path) cannot be started (there is no such program)")
        }
        // The module's output is discarded, since it would spoil the command's own. The worker is in no group that a
        // terminal signals, and ends with all that it started.
        let child = ChildProgram(
            path: path, arguments: program.arguments + [module], environment: program.environment ?? Environment.all,
            streams: [.nothing, .nothing, .nothing, .descriptor(descriptors[1])], belonging: .ownGroup)
        do throws(SystemError) { process = try child.start() } catch {
            close(descriptors[0])
            throw ModuleFailure(
                code: 0, what: "its process \(program.path) cannot be started (\(error.reason))")
        }
        socket = MessageSocket(descriptor: descriptors[0], process: clinux_process(process))
    }

    deinit {
        close(socket.descriptor)
        if socket.process >= 0 { close(socket.process) }
        kill(-process, SIGKILL)
        wait()
    }

    /// Sends a request and waits for its answer.
    func ask(
        _ request: ModuleRequest, _ pin: borrowing Secret, by deadline: ContinuousClock.Instant
    ) throws(MessageSocket.Failure) -> Message {
        var fields = FieldWriter()
        request.write(to: &fields)
        try socket.send(fields.bytes, pin, by: deadline)
        return try socket.receive(by: deadline)
    }

    /// The reason of the worker's end; empty while it runs.
    func reasonOfEnd() -> String {
        // A crashing worker needs a moment to end.
        for _ in 0..<20 {
            if let end = hasEnded() { return end }
            usleep(5_000)
        }
        return ""
    }

    /// The way in which the worker ended; nil while it runs. The process stays for a later wait.
    private func hasEnded() -> String? {
        var code: Int32 = 0
        var status: Int32 = 0
        guard unsafe clinux_peek_end(process, &code, &status) == 1 else { return nil }
        return code == Int32(CLD_EXITED) ? "it exited with \(status)" : "it died of signal \(status)"
    }

    private func wait() {
        while waitpid(process, nil, 0) == -1, errno == EINTR {}
    }
}
