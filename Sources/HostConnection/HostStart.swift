internal import CHostStart
internal import Glibc
internal import KeychainModel
internal import Platform
internal import Synchronization

/// Starts a host for this program alone, which ends with the program.
final class HostStart: Sendable {
    private let environment: [[UInt8]]
    private let failures = Mutex(Failures())

    /// A host that cannot run, as one whose library is missing, is not started by every request: after each failure the pause is twice
    /// as long.
    private struct Failures {
        var count = 0
        var last = KeychainError(.notAvailable)
        var pauseEnd = ContinuousClock.now

        static let firstPause = Duration.milliseconds(100)
        static let mostDoublings = 9
    }

    /// - Parameter environment: variables for the host, each as `NAME=value`.
    init(environment: [[UInt8]]) {
        self.environment = environment
    }

    /// - Returns: the connection to the host, which waits for the hello.
    /// - Throws: `errSecNotAvailable` where no host can be started; for a while after a failure its reason.
    func connect() throws(KeychainError) -> Int32 {
        let recent = failures.withLock { $0.count > 0 && .now < $0.pauseEnd ? $0.last : nil }
        if let recent { throw recent }
        do throws(KeychainError) { return try start() } catch {
            note(error)
            throw error
        }
    }

    /// Notes the outcome of a start.
    ///
    /// - Parameter failure: nil for a host that serves.
    func note(_ failure: KeychainError?) {
        failures.withLock { failures in
            guard let failure else { return failures.count = 0 }
            failures.last = failure
            failures.pauseEnd = .now + Failures.firstPause * (1 << min(failures.count, Failures.mostDoublings))
            failures.count += 1
        }
    }

    private func start() throws(KeychainError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        let made = unsafe tokenkit_socket_pair(&ends)
        guard made == 0 else { throw HostStart.error("no connection can be made", -made) }
        defer { close(ends[1]) }
        guard let path = HostStart.paths.first(where: { unsafe access($0, X_OK) == 0 }) else {
            close(ends[0])
            throw KeychainError(
                .notAvailable, "there is no host of the keychains (install tokenkitd at \(HostStart.installed[0]))")
        }
        let started = start(path, ends[1])
        guard started == 0 else {
            close(ends[0])
            throw HostStart.error("\(path) cannot be started", -started)
        }
        return ends[0]
    }

    private static func error(_ what: String, _ number: Int32) -> KeychainError {
        KeychainError(.notAvailable, "\(what): \(SystemError(number).reason)")
    }

    /// - Returns: 0, or `-errno`.
    private func start(_ path: String, _ socket: Int32) -> Int32 {
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { variable in
            unsafe variable.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.flatMap { unsafe strndup($0.assumingMemoryBound(to: CChar.self), bytes.count) }
            }
        }
        defer { unsafe variables.forEach { unsafe free($0) } }
        unsafe variables.append(nil)
        return unsafe tokenkit_start(path, variables, socket)
    }

    private static var installed: [String] {
        [unsafe String(cString: tokenkit_installed_host()), "/usr/libexec/tokenkitd"]
    }

    /// The host that belongs to this program, or to the library that this code is in: in the `libexec` folder relative to it, or beside
    /// it, as in a build folder, unless another user can replace it there. Elsewhere it is the installed one: at the path that was set when
    /// this code was built, or a package's.
    private static var paths: [String] {
        let own = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { folder in
            guard let start = folder.baseAddress, unsafe tokenkit_own_folder(start) != 0 else { return String?.none }
            return unsafe String(cString: start)
        }
        guard let own else { return installed }
        let beside = ["\(own)/../libexec/tokenkitd", "\(own)/../../libexec/tokenkitd", "\(own)/tokenkitd"]
        return beside.filter { FollowedPath($0)?.isOwn == true } + installed
    }
}
