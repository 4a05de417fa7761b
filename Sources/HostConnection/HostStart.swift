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
        guard made == 0 else { throw HostProgram.error("no connection can be made", -made) }
        defer { close(ends[1]) }
        do throws(KeychainError) { try HostProgram.start(.ofOneProgram, environment, ends[1]) } catch {
            close(ends[0])
            throw error
        }
        return ends[0]
    }
}
