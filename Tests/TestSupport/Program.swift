import Foundation

/// How a program ended, and what it said.
public struct ProgramResult: Sendable, CustomStringConvertible {
    /// The exit status, or the number of the signal that ended the program, negated.
    public let status: Int32
    /// Standard output.
    public let output: [UInt8]
    /// Standard error.
    public let errors: [UInt8]

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
        let process = process(command, environment: environment)
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        (process.standardInput, process.standardOutput, process.standardError) = (standardInput, output, errors)

        let finished = DispatchGroup()
        finished.enter()
        process.terminationHandler = { _ in finished.leave() }
        try process.run()

        let (outputBytes, errorBytes) = (Collected(), Collected())
        for (pipe, bytes) in [(output, outputBytes), (errors, errorBytes)] {
            Thread.detached(in: finished) { bytes.set((try? pipe.fileHandleForReading.readToEnd()) ?? Data()) }
        }
        Thread.detached(in: finished) {
            try? standardInput.fileHandleForWriting.write(contentsOf: Data(input))
            try? standardInput.fileHandleForWriting.close()
        }
        if finished.wait(timeout: .now() + timeout) == .timedOut {
            kill(process.processIdentifier, SIGKILL)
            finished.wait()
        }
        let signalled = process.terminationReason == .uncaughtSignal
        return ProgramResult(
            status: signalled ? -process.terminationStatus : process.terminationStatus,
            output: outputBytes.bytes, errors: errorBytes.bytes)
    }

    /// A process that is ready to run a program found on the path.
    static func process(_ command: [String], environment: [String: String] = [:]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        var variables = ProcessInfo.processInfo.environment
        variables["LC_ALL"] = "C.UTF-8"
        variables["PATH", default: ""] += ":/usr/sbin:/sbin"
        process.environment = variables.merging(environment) { $1 }
        return process
    }
}

/// What another thread has read.
private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var data = Data()

    func set(_ data: Data) { lock.withLock { self.data = data } }
    var bytes: [UInt8] { lock.withLock { Array(data) } }
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
