internal import KeychainModel

/// The environment of a connection, from the process and its user: the clocks, and the state of the login session.
package struct ConnectionEnvironment: Sendable {
    /// The time in seconds since the start of 1970, UTC.
    let clock: @Sendable () -> Int64
    /// The clock that counts the time without use.
    package let uptime: @Sendable () -> Uptime
    /// Whether the user's login session is locked.
    let isSessionLocked: @Sendable () -> Bool

    package init(
        clock: @escaping @Sendable () -> Int64 = ConnectionEnvironment.now,
        uptime: @escaping @Sendable () -> Uptime = Uptime.now, isSessionLocked: @escaping @Sendable () -> Bool
    ) {
        self.clock = clock
        self.uptime = uptime
        self.isSessionLocked = isSessionLocked
    }

    /// The time in whole seconds since the start of 1970, UTC.
    @Sendable package static func now() -> Int64 { ItemDate.now.seconds }
}
