internal import KeychainStore
internal import LoginSessions

extension ConnectionEnvironment {
    /// The environment of this process: the system's clocks, and the login session of its user.
    static var ofUser: ConnectionEnvironment { ConnectionEnvironment(isSessionLocked: ScreenLock.isLocked) }
}
