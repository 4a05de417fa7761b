internal import KeychainModel

/// The environment of a connection, from the process and its user: the clocks, the state of the login session, and a folder.
package struct ConnectionEnvironment: Sendable {
    /// The time in seconds since the start of 1970, UTC.
    let clock: @Sendable () -> Int64
    /// The clock that counts the time without use.
    package let uptime: @Sendable () -> Uptime
    /// Whether the user's login session is locked.
    let isSessionLocked: @Sendable () -> Bool
    /// The channel to the user's other programs.
    package let signals: any SessionSignals

    package init(
        clock: @escaping @Sendable () -> Int64 = ConnectionEnvironment.now,
        uptime: @escaping @Sendable () -> Uptime = Uptime.now, isSessionLocked: @escaping @Sendable () -> Bool,
        signals: any SessionSignals
    ) {
        self.clock = clock
        self.uptime = uptime
        self.isSessionLocked = isSessionLocked
        self.signals = signals
    }

    /// The time in whole seconds since the start of 1970, UTC.
    @Sendable package static func now() -> Int64 { ItemDate.now.seconds }
}
