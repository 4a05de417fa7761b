internal import Glibc
internal import PKCS11Driver

/// This program as the process that a module of another maker runs in.
enum Worker {
    /// The limit of open files that programs expect, some of which close every number below it or use `select`. A shared host raises its own.
    private static let fileLimit: rlim_t = 1024

    /// Serves a module, where the arguments say that this process was started as a module's worker.
    ///
    /// - Returns: whether it was.
    static func serve(_ arguments: [String]) -> Bool {
        guard let (module, program) = WorkerProgram.moduleToServe(arguments) else { return false }
        var files = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 {
            files.rlim_cur = min(files.rlim_cur, fileLimit)
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        }
        ModuleWorker.run(module, for: program)
        return true
    }
}
