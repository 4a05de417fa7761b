import Foundation

/// How a program ended, and what it said.
public struct ProgramResult: Sendable, CustomStringConvertible {
    /// The exit status, or the number of the signal that ended the program, negated.
    public fileprivate(set) var status: Int32
    /// Standard output.
    public fileprivate(set) var output: [UInt8]
    /// Standard error.
    public fileprivate(set) var errors: [UInt8]

    /// Standard output as text.
    public var text: String { String(decoding: output, as: UTF8.self) }

    /// Both streams: what many programs are needed for is on the one, why they failed on the other.
    public var description: String { "exit \(status)\n\(text)\(String(decoding: errors, as: UTF8.self))" }
}

/// A program that nobody here wrote, or one that was built here, run to its end.
public enum Program {
    /// Where the package stands.
    public static let packageRoot = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Where the build puts every product: beside the test bundle.
    public static let products: String = {
        let tests = URL(filePath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let folders = [bundle?.deletingLastPathComponent(), tests].compactMap { $0?.path() }
        return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/tokenctl") } ?? ""
    }()

    /// The folder below which `make install` has put what is tested; nil where what was built is.
    public static let prefix = ProcessInfo.processInfo.environment["TOKENKIT_TEST_PREFIX"]

    /// The library that programs of PKCS #11 load, the process that it starts, and `tokenctl`.
    public static let module = prefix.map { $0 + "/lib/libtokenkit-pkcs11.so" } ?? products + "/libtokenkit-pkcs11.so"
    public static let host = prefix.map { $0 + "/libexec/tokenkitd" } ?? products + "/tokenkitd"
    public static let command = prefix.map { $0 + "/bin/tokenctl" } ?? products + "/tokenctl"

    /// Runs a program found on the path and waits for it.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - environment: What is added to this process's environment.
    ///   - input: What it reads from standard input, which then ends.
    ///   - timeout: After how many seconds it is killed.
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

/// What other threads find out about a program.
private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var result = ProgramResult(status: 0, output: [], errors: [])

    func set<Value>(_ field: WritableKeyPath<ProgramResult, Value>, _ value: Value) {
        lock.withLock { result[keyPath: field] = value }
    }

    var value: ProgramResult { lock.withLock { result } }
}

extension FileHandle {
    /// Writes bytes. A reader that is gone ends neither the test nor the process, which is every other test's as well.
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
    /// Runs a block that may wait for long on a thread of its own, so that no shared pool runs dry.
    static func detached(in group: DispatchGroup, _ block: @escaping @Sendable () -> Void) {
        group.enter()
        Thread {
            block()
            group.leave()
        }.start()
    }
}
