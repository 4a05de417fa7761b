import Foundation
import Synchronization

/// A pcscd of the test's own, with one virtual reader.
///
/// `Scripts/private-pcscd` starts the daemon in its own namespaces: several run side by side, apart from the system's daemon. It
/// ends with the last reference to this object, and with this process in any case.
public final class PrivatePCSCD: Sendable {
    /// The daemon for PC/SC calls in this process.
    ///
    /// libpcsclite keeps its first address until the process ends, so that all tests share one daemon. A suite that uses it has to
    /// be the only one that puts cards into its reader. Programs that a test starts may use other daemons.
    public static let ofThisProcess: Result<PrivatePCSCD, any Error> = Result {
        let daemon = try PrivatePCSCD()
        setenv("PCSCLITE_CSOCK_NAME", daemon.socketPath, 1)
        return daemon
    }

    /// The name of the virtual reader, as clients see it.
    public let readerName: String
    /// The first process in the daemon's namespaces.
    public let processIdentifier: Int32
    /// The address of the daemon, for PCSCLITE_CSOCK_NAME.
    public let socketPath: String

    private let lifeline: FileHandle
    private let process: ChildProcess
    private let hasEnded = Atomic(false)

    private static let script = Program.packageRoot.appending(path: "Scripts/private-pcscd").path(percentEncoded: false)

    /// Starts a daemon; when this returns, clients can connect and a card can be inserted.
    ///
    /// - Parameters:
    ///   - reader: The name of the reader; ykcs11 sees only names that start with "Yubico".
    ///   - driver: A driver in front of vpcd; nil for none.
    public init(reader: String = "Virtual PCD", driver: ReaderDriver? = nil) throws {
        let (input, output) = try (ChildProcess.pipe(), ChildProcess.pipe())
        process = try ChildProcess(
            [Self.script, "start", reader] + (driver.map { [$0.path] } ?? []),
            environment: driver?.environment ?? [:],
            streams: [input.read.fileDescriptor, output.write.fileDescriptor, STDERR_FILENO])
        lifeline = input.write
        try output.write.close()
        let answer = output.read.availableData  // one line, written at once
        let words = String(decoding: answer, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let identifier = Int32(words[0]) else { throw NoDaemon() }
        readerName = "\(reader) 00 00"
        processIdentifier = identifier
        socketPath = String(words[1])
    }

    deinit { stop() }

    /// Ends the daemon, and returns once its clients' connections have ended.
    public func stop() {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        try? lifeline.close()
        process.wait()
    }

    /// A reader's driver, and its additional environment variables.
    public struct ReaderDriver: Sendable {
        let path: String
        let environment: [String: String]

        public init(path: String, environment: [String: String]) {
            (self.path, self.environment) = (path, environment)
        }
    }

    /// The environment variables that make a program a client of this daemon.
    public var environment: [String: String] { ["PCSCLITE_CSOCK_NAME": socketPath] }

    /// Runs a program as a client of this daemon.
    public func run(_ command: [String], input: [UInt8] = []) throws -> ProgramResult {
        try Program.run(command, environment: environment, input: input)
    }

    /// The command that runs another one in the daemon's network, where vpcd waits for a card on 127.0.0.1:35963.
    public func command(entering command: [String]) -> [String] {
        [Self.script, "enter", "\(processIdentifier)"] + command
    }

    /// Connects to a reader as a card does, and returns the socket, which the caller closes to take the card out.
    ///
    /// - Parameter reader: 0 or 1: vpcd has two.
    public func connectCard(reader: Int = 0) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw POSIXError(.EMFILE)
        }
        defer { close(ends[1]) }
        // socat would log an error for every card that is taken out.
        let relayCommand = ["socat", "-lf", "/dev/null", "-", "TCP:127.0.0.1:\(35963 + reader),nodelay"]
        do {
            let relay = try ChildProcess(
                command(entering: relayCommand), streams: [ends[1], ends[1], STDERR_FILENO])
            Thread { relay.wait() }.start()
        } catch {
            close(ends[0])
            throw error
        }
        return ends[0]
    }

    /// The daemon did not start; the reason is on standard error.
    public struct NoDaemon: Error {}
}
