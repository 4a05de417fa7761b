internal import CHostStart
internal import Glibc
internal import KeychainModel
internal import Localization
internal import Platform

/// The program `tokenkitd`, which this program starts. It is never seen as a child, and has neither the program's streams nor its files.
enum HostProgram {
    enum Kind {
        /// Serves the one program at the other end of its socket, and ends with it.
        case ofOneProgram
        /// Serves the programs that connect to its socket, which listens. It has a session of its own, without a terminal.
        case ofSession
    }

    /// - Parameters:
    ///   - environment: variables for the host, each as `NAME=value`.
    ///   - socket: a descriptor above those of the standard streams.
    /// - Throws: `errSecNotAvailable` where the program is missing or cannot be run.
    static func start(_ kind: Kind, _ environment: [[UInt8]], _ socket: Int32) throws(KeychainError) {
        guard let path = paths.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw KeychainError(
                .notAvailable, "there is no host of the keychains (install tokenkitd at \(installed[0]))")
        }
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { variable in
            unsafe variable.withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.flatMap { unsafe strndup($0.assumingMemoryBound(to: CChar.self), bytes.count) }
            }
        }
        defer { unsafe variables.forEach { unsafe free($0) } }
        unsafe variables.append(nil)
        let started = unsafe tokenkit_start(path, variables, socket, kind == .ofSession ? 1 : 0)
        guard started == 0 else { throw error("\(path) cannot be started", -started) }
    }

    static func error(_ what: String, _ number: Int32) -> KeychainError {
        KeychainError(.notAvailable, "\(what): \(SystemError(number).reason)")
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
