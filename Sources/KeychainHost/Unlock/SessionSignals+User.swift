internal import LoginSessions
internal import Platform
internal import KeychainStore

extension ConnectionEnvironment {
    /// The environment of this process: the system's clocks, and the login session of its user.
    static var ofUser: ConnectionEnvironment {
        ConnectionEnvironment(
            isSessionLocked: ScreenLock.isLocked, signals: .ofUser)
    }
}

extension KeychainPreferences {
    /// The signals of the user whose settings these are.
    var signals: any SessionSignals { ProgramSignals { [directories] in directories.volatile } }
}

extension SessionSignals where Self == ProgramSignals {
    /// The signals of the user whose rights this process has.
    static var ofUser: ProgramSignals { ProgramSignals { Directories.ofUser.volatile } }
}
