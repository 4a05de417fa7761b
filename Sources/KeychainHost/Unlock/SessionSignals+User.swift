internal import Platform
package import KeychainStore

extension ConnectionEnvironment {
    /// The environment of this process: the system's clocks, and the login session of its user.
    package static var ofUser: ConnectionEnvironment {
        ConnectionEnvironment(
            isSessionLocked: LoginSession.isLocked, sessionFolder: { Directories.ofUser.volatile })
    }
}
