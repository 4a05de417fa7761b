import Foundation

/// A message bus of a test. It ends with the last reference to this object.
public final class TestBus: Sendable {
    public let address: String
    private let daemon: ChildProcess

    /// - Parameter folder: has the bus's socket, also that of an earlier bus.
    public init(in folder: TemporaryFolder) throws {
        address = TestBus.address(in: folder)
        try folder.write(
            "bus.conf",
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>

            """)
        let (input, output) = try (ChildProcess.pipe(), ChildProcess.pipe())
        daemon = try ChildProcess(
            ["dbus-daemon", "--config-file=\(folder.path("bus.conf"))", "--nofork", "--nopidfile", "--print-address"],
            // It complains where it may not have 65,536 descriptors.
            streams: [
                input.read.fileDescriptor, output.write.fileDescriptor, FileHandle.nullDevice.fileDescriptor,
            ])
        try output.write.close()
        // The bus prints its address once clients can connect.
        guard !output.read.availableData.isEmpty else { throw CocoaError(.fileReadUnknown) }
    }

    public static func address(in folder: TemporaryFolder) -> String { "unix:path=\(folder.path("system_bus_socket"))" }

    deinit {
        kill(daemon.identifier, SIGTERM)
        daemon.wait()
    }

    /// Sends a signal of another program than logind.
    ///
    /// - Parameter destination: the unique name of the program that gets it; nil for all that listen.
    public func forge(_ signal: String, at path: String, to destination: String?, _ contents: String...) throws {
        let result = try Program.run(
            ["dbus-send", "--bus=\(address)", "--type=signal"] + (destination.map { ["--dest=\($0)"] } ?? [])
                + [path, signal] + contents)
        guard result.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

/// A stand-in for logind: the program LogindStandIn. It ends with the last reference to this object.
public final class StandInLogind {
    private let process: ChildProcess
    private let input: FileHandle
    private let output: FileHandle
    private var unread: [UInt8] = []
    /// The unique name of the program that asked last to delay the machine's sleep.
    public private(set) var watcher: String?

    public init(on bus: TestBus) throws {
        let (input, output) = try (ChildProcess.pipe(), ChildProcess.pipe())
        process = try ChildProcess(
            [Program.products + "/LogindStandIn", bus.address],
            streams: [input.read.fileDescriptor, output.write.fileDescriptor, STDERR_FILENO])
        (self.input, self.output) = (input.write, output.read)
        try input.read.close()
        try output.write.close()
        try lines(upTo: "ready")
    }

    deinit {
        try? input.close()
        process.wait()
    }

    /// Has a line carried out.
    ///
    /// - Returns: the lines that it said in answer.
    @discardableResult
    public func perform(_ line: String) throws -> [String] {
        input.send(Array("\(line)\n".utf8))
        return try lines(upTo: "done")
    }

    /// The number of descriptors that delay the machine's sleep.
    public var delayCount: Int {
        get throws {
            let count = try perform("count").last { $0.hasPrefix("held ") }
            return count.flatMap { Int($0.dropFirst(5)) } ?? -1
        }
    }

    @discardableResult
    private func lines(upTo end: String) throws -> [String] {
        var lines: [String] = []
        while true {
            while let line = nextLine() {
                if line == end { return lines }
                lines.append(line)
                if line.hasPrefix("inhibit sleep delay ") {
                    watcher = line.split(separator: " ").last.map(String.init)
                }
            }
            let more = output.availableData
            guard !more.isEmpty else { throw CocoaError(.fileReadUnknown) }
            unread += more
        }
    }

    private func nextLine() -> String? {
        guard let end = unread.firstIndex(of: 0x0A) else { return nil }
        defer { unread.removeSubrange(...end) }
        return String(decoding: unread[..<end], as: UTF8.self)
    }
}
