internal import CHostStart
internal import Glibc
internal import KeychainModel
internal import Synchronization

/// Starts a host for this program alone, which ends with the program.
final class HostStart: Sendable {
    private let environment: [[UInt8]]
    private let failures = Mutex(Failures())

    /// A host that cannot run, as one whose library is missing, is not started by every request: after each failure the pause is twice
    /// as long.
    private struct Failures {
        var count = 0
        var pauseEnd = ContinuousClock.now

        static let firstPause = Duration.milliseconds(100)
        static let mostDoublings = 9
    }

    /// - Parameter environment: variables for the host, each as `NAME=value`.
    init(environment: [[UInt8]]) {
        self.environment = environment
    }

    /// - Returns: the connection to the host, which waits for the hello.
    /// - Throws: `errSecNotAvailable` where no host can be started, or one has just failed to.
    func connect() throws(KeychainError) -> Int32 {
        guard failures.withLock({ $0.count == 0 || .now >= $0.pauseEnd }) else {
            throw HostStart.error("a host of the keychains was started, and has ended (try again in a minute)")
        }
        var ends: [Int32] = [-1, -1]
        guard unsafe tokenkit_socket_pair(&ends) == 0 else {
            throw HostStart.error("there is no descriptor left for a connection to a host of the keychains")
        }
        defer { close(ends[1]) }
        for path in HostStart.paths where start(path, ends[1]) { return ends[0] }
        close(ends[0])
        noteFailure()
        throw HostStart.error(
            "no host of the keychains could be started (install tokenkitd at \(HostStart.installed[0]))")
    }

    /// Counts a host that ended before it answered.
    func noteFailure() {
        failures.withLock { failures in
            let doublings = min(failures.count, Failures.mostDoublings)
            failures.count += 1
            failures.pauseEnd = .now + Failures.firstPause * (1 << doublings)
        }
    }

    func noteSuccess() { failures.withLock { $0.count = 0 } }

    private func start(_ path: String, _ socket: Int32) -> Bool {
        guard unsafe access(path, X_OK) == 0 else { return false }
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { variable in
            unsafe variable.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.flatMap { unsafe strndup($0.assumingMemoryBound(to: CChar.self), bytes.count) }
            }
        }
        defer { unsafe variables.forEach { unsafe free($0) } }
        unsafe variables.append(nil)
        return unsafe tokenkit_start(path, variables, socket) == 0
    }

    private static var installed: [String] {
        [unsafe String(cString: tokenkit_installed_host()), "/usr/libexec/tokenkitd"]
    }

    /// The host that belongs to this program, or to the library that this code is in: in the `libexec` folder relative to it, or beside
    /// it, as in a build folder. Elsewhere it is the installed one: at the path that was set when this code was built, or a package's.
    private static var paths: [String] {
        let own = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { folder in
            guard let start = folder.baseAddress, unsafe tokenkit_own_folder(start) != 0 else { return String?.none }
            return unsafe String(cString: start)
        }
        guard let own else { return installed }
        return ["\(own)/../libexec/tokenkitd", "\(own)/../../libexec/tokenkitd", "\(own)/tokenkitd"] + installed
    }

    private static func error(_ reason: String) -> KeychainError { KeychainError(.notAvailable, reason) }
}
