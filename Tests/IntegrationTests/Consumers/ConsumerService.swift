import Foundation
import TestSupport

/// A program that serves until it is released.
final class ConsumerService: Sendable {
    private let process: ChildProcess

    /// Starts the program, with its output and errors in a file.
    init(_ command: [String], environment: [String: String], output: String) throws {
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let log = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer {
            close(input)
            close(log)
        }
        process = try ChildProcess(command, environment: environment, streams: [input, log, log])
    }

    deinit {
        kill(process.identifier, SIGTERM)
        // A program that ignores the signal must not keep the tests from ending.
        eventually(within: 5) { !isRunning }
        kill(process.identifier, SIGKILL)
        process.wait()
    }

    var identifier: pid_t { process.identifier }

    /// Whether the program has not ended.
    var isRunning: Bool {
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(process.identifier), &information, WEXITED | WNOHANG | WNOWAIT)
        return result == 0 && information.si_signo == 0
    }

    /// The service has ended, or cannot be reached.
    struct NotServing: Error {
        let name: String
        let log: String
    }
}

/// Ports of 127.0.0.1, and sockets in the file system.
enum Loopback {
    /// A port at which no process listens.
    static func unusedPort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var (address, length) = (address(of: 0), socklen_t(MemoryLayout<sockaddr_in>.size))
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Whether a process listens at a port.
    static func accepts(_ port: Int) -> Bool { connects(AF_INET, address(of: port)) }

    /// Whether a process listens at a socket.
    static func accepts(_ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return connects(AF_UNIX, address)
    }

    private static func connects<Address>(_ family: Int32, _ address: Address) -> Bool {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
    }

    private static func address(of port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        return address
    }
}
