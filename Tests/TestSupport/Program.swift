import Foundation

/// The exit status and the output of a program.
public struct ProgramResult: Sendable, CustomStringConvertible {
    /// The exit status, or the negated number of the signal that ended the program.
    public fileprivate(set) var status: Int32
    /// Standard output.
    public fileprivate(set) var output: [UInt8]
    /// Standard error.
    public fileprivate(set) var errors: [UInt8]

    /// Standard output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }

    /// The status and both streams, because many programs write results to the one and the reason of a failure to the other.
    public var description: String { "exit \(status)\n\(text)\(String(decoding: errors, as: UTF8.self))" }
}

/// Runs programs, foreign ones or those that were built here, to their end.
public enum Program {
    /// The folder of the package.
    public static let packageRoot = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of the build's products, beside the test bundle.
    public static let products: String = {
        let tests = URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folders = [bundle?.deletingLastPathComponent(), tests].compactMap { $0?.path() }
        return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/tokenctl") } ?? ""
    }()

    /// The prefix of `make install` whose programs are tested; nil to test those of the debug build, which take longer.
    public static let prefix = ProcessInfo.processInfo.environment["INSTALLED_PREFIX"]

    /// The library that programs of PKCS #11 load, the process that it starts, and `tokenctl`.
    public static let module = prefix.map { $0 + "/lib/libtokenkit-pkcs11.so" } ?? products + "/libtokenkit-pkcs11.so"
    public static let host = prefix.map { $0 + "/libexec/tokenkitd" } ?? products + "/tokenkitd"
    public static let command = prefix.map { $0 + "/bin/tokenctl" } ?? products + "/tokenctl"

    /// The folders of `tokenctl` and of the programs that only tests use, as `PATH` has them.
    public static let path =
        URL(filePath: command).deletingLastPathComponent().path(percentEncoded: false) + ":" + products

    /// Runs a program found on the path and waits for it.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - environment: Additions to this process's environment.
    ///   - input: The bytes on standard input, which then ends.
    ///   - timeout: The number of seconds after which the program is killed.
    public static func run(
        _ command: [String], environment: [String: String] = [:], input: [UInt8] = [], timeout: Double = 120
    ) throws -> ProgramResult {
        let pipes = try (input: ChildProcess.pipe(), output: ChildProcess.pipe(), errors: ChildProcess.pipe())
        let theirs = [pipes.input.read, pipes.output.write, pipes.errors.write]
        let child = try ChildProcess(command, environment: environment, streams: theirs.map(\.fileDescriptor))
        for handle in theirs { try handle.close() }

        let (finished, result) = (DispatchGroup(), Collected())
        Thread.detached(in: finished) { result.set(\.status, child.wait()) }
        Thread.detached(in: finished) { result.set(\.output, pipes.output.read.rest()) }
        Thread.detached(in: finished) { result.set(\.errors, pipes.errors.read.rest()) }
        Thread.detached(in: finished) {
            pipes.input.write.send(input)
            try? pipes.input.write.close()
        }
        if finished.wait(timeout: .now() + timeout) == .timedOut {
            kill(child.identifier, SIGKILL)
            finished.wait()
        }
        return result.value
    }
}

/// The result of a program, which other threads collect.
private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var result = ProgramResult(status: 0, output: [], errors: [])

    func set<Value>(_ field: WritableKeyPath<ProgramResult, Value>, _ value: Value) {
        lock.withLock { result[keyPath: field] = value }
    }

    var value: ProgramResult { lock.withLock { result } }
}

extension FileHandle {
    /// Writes bytes. If the reader is gone, neither the test nor the process, which runs the other tests as well, ends.
    public func send(_ bytes: [UInt8]) {
        var (brokenPipe, before, patience) = (sigset_t(), sigset_t(), timespec())
        sigemptyset(&brokenPipe)
        sigaddset(&brokenPipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
        try? write(contentsOf: Data(bytes))
        sigtimedwait(&brokenPipe, nil, &patience)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Everything up to the end.
    fileprivate func rest() -> [UInt8] { Array((try? readToEnd()) ?? Data()) }
}

extension Thread {
    /// Runs a block that may wait for long on its own thread, so that no shared pool is exhausted.
    public static func detached(in group: DispatchGroup, _ block: @escaping @Sendable () -> Void) {
        group.enter()
        Thread {
            block()
            group.leave()
        }.start()
    }
}
