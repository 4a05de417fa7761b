import Foundation
import TestSupport

/// A running `KeychainWriter`.
final class WriterProcess {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private var pending = Data()

    /// - Parameter umask: The program's umask, in octal; nil for this process's own.
    init(_ arguments: [String], password: String = "correct", umask: String? = nil) throws {
        if let umask {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", "umask \(umask); exec \"$0\" \"$@\"", Self.executable.path] + arguments
        } else {
            process.executableURL = Self.executable
            process.arguments = arguments
        }
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        input.fileHandleForWriting.send(Array("\(password)\n".utf8))
        try input.fileHandleForWriting.close()
    }

    var identifier: Int32 { process.processIdentifier }

    /// The next line of output; nil at its end.
    func nextLine() -> String? {
        while true {
            if let end = pending.firstIndex(of: 0x0A) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending = Data(pending[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            pending += more
        }
    }

    /// The rest of the output, once the program has ended.
    func remainingLines() -> [String] {
        var lines: [String] = []
        while let line = nextLine() { lines.append(line) }
        process.waitUntilExit()
        return lines
    }

    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    var exitStatus: Int32 { process.terminationStatus }

    static let executable = URL(filePath: Program.products + "/KeychainWriter")
}
