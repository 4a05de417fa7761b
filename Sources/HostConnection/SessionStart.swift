internal import Glibc
internal import KeychainModel
internal import Localization
internal import Platform
internal import WireTransport

/// Starts the host that the programs of a session share. It outlives this program, and ends when no program has used it for a while.
struct SessionStart: Sendable {
    /// Variables for the host, each as `NAME=value`.
    let environment: [[UInt8]]

    /// Makes the session's socket, at which programs can connect from now on, and starts the host that serves it. Of several programs that do
    /// so at once, one starts a host.
    ///
    /// - Parameter runtime: the session's folder.
    /// - Throws: `errSecNotAvailable` where the folder may not be used, or the host cannot be started.
    func start(in runtime: String) throws(KeychainError) {
        let made: Int32
        do throws(HostSocket.Failure) { made = try HostSocket.listen(in: runtime) } catch {
            if case .isServed = error { return }
            throw KeychainError(.notAvailable, "\(error.reason)")
        }
        let listener = Descriptor.moved(made, to: FrameSocket.lowestOfPrograms)
        guard listener >= 0 else { throw HostProgram.error("no descriptor is left", errno) }
        do throws(KeychainError) { try HostProgram.start(.ofSession, environment, listener) } catch {
            close(listener)
            HostSocket.remove(in: runtime)
            throw error
        }
        close(listener)
    }
}
