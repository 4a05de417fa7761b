package import KeychainModel
package import Platform
internal import Glibc
internal import Synchronization

/// The program of a client, looked up when it first matters: most clients never use a key.
package final class AskingProgram: Sendable {
    private let handle: ProcessHandle?
    private let user: UInt32
    private let known = Mutex<ProgramIdentity?>(nil)

    /// - Parameters:
    ///   - handle: the process, made when its connection was accepted; nil where the kernel does not tell it.
    ///   - user: the user who must not be able to write a program that is known by its path.
    package init(_ handle: ProcessHandle?, user: UInt32 = geteuid()) {
        (self.handle, self.user) = (handle, user)
    }

    /// The program, after a check that the process still runs it. Its content may have changed since the last look.
    ///
    /// - Throws: `errSecRestrictedAPI` where the process has ended, has executed another file since it connected, or cannot be seen.
    package func identity() throws(KeychainError) -> ProgramIdentity {
        guard let handle else {
            throw KeychainError(.restrictedAPI, "the host cannot see which program asks")
        }
        let digest = ExecutableDigests.shared.digest
        if let identity = known.withLock(\.self), identity.isSame(handle, digest: digest) { return identity }
        guard let identity = ProgramIdentity(of: handle, user: user, digest: digest) else {
            throw KeychainError(
                .restrictedAPI,
                handle.hasEnded
                    ? "the program that asks has ended"
                    : "the program that asks is another one than the one that connected")
        }
        known.withLock { $0 = identity }
        return identity
    }
}
