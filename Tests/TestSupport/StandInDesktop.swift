import Foundation
import Synchronization

/// A stand-in for a desktop that shows notifications: the program NotificationStandIn. It ends with the last reference to this object.
public final class StandInDesktop: Sendable {
    /// The server's kind, as the program describes it.
    public enum Kind: String, Sendable {
        case markup, plain, mute, odd
    }

    private let process: ChildProcess
    private let input: FileHandle
    private let output: FileHandle
    private let said = Mutex<(lines: [String], rest: [UInt8])>(([], []))

    public init(on bus: TestBus, _ kind: Kind = .markup) throws {
        let (input, output) = try (ChildProcess.pipe(), ChildProcess.pipe())
        process = try ChildProcess(
            [Program.products + "/NotificationStandIn", bus.address, kind.rawValue],
            streams: [input.read.fileDescriptor, output.write.fileDescriptor, STDERR_FILENO])
        (self.input, self.output) = (input.write, output.read)
        try input.read.close()
        try output.write.close()
        guard fcntl(output.read.fileDescriptor, F_SETFL, O_NONBLOCK) == 0 else { throw CocoaError(.fileReadUnknown) }
        guard eventually({ lines.first == "ready" }) else { throw CocoaError(.fileReadUnknown) }
    }

    deinit {
        try? input.close()
        process.wait()
    }

    /// The lines so far, after "ready" the calls.
    private var lines: [String] {
        said.withLock { said in
            var bytes = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(output.fileDescriptor, &bytes, bytes.count)
                guard count > 0 else { break }
                said.rest += bytes.prefix(count)
            }
            while let end = said.rest.firstIndex(of: 0x0A) {
                said.lines.append(String(decoding: said.rest[..<end], as: UTF8.self))
                said.rest.removeSubrange(...end)
            }
            return said.lines
        }
    }

    /// The calls so far, a line for each.
    public var calls: [String] { Array(lines.dropFirst()) }

    /// The notifications so far, each as `TITLE|TEXT`.
    public var shown: [String] {
        calls.filter { $0.hasPrefix("show ") }.map { line in
            line.split(separator: " ", maxSplits: 6).last.map(String.init) ?? ""
        }
    }
}
