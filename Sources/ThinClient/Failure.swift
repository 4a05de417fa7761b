// The sources in this folder are compiled into each library that programs load, which has in addition, in its own words:
//
//     typealias ResultCode        the code that its functions return
//     enum Client                 its codes for failures of the connection, its hello, and its own state of connections
//     let argumentsBad            the failure of a call whose arguments are not as the function takes them

/// The reason that a function failed.
struct Failure: Error {
    let code: ResultCode
    /// The reason for the log, where the code does not tell it.
    let reason: StaticString
    /// Whether the failure concerns a host that exists, or should.
    let isHost: Bool
    /// Whether the host is known not to have read the call.
    let isUnread: Bool

    init(_ code: ResultCode, isHost: Bool = true, isUnread: Bool = false, _ reason: StaticString = "") {
        self.code = code
        self.reason = reason
        self.isHost = isHost
        self.isUnread = isUnread
    }
}

let hostFailed = Failure(Client.hostFailed, "the host of the keychains has ended, or does not answer")
let hostEnded = Failure(Client.hostFailed, isUnread: true, "the host of the keychains has ended")

/// The state of one call, which is passed down to the host's connection.
struct CallContext {
    let initialisation: UInt64
    /// Whether other threads' connections are waited for.
    var waits = true
    /// The failure of a call that may wait for any time, where others like it have all connections for them; nil for other calls.
    var tooManyWaits: Failure?
    /// The time until which the call waits for a host, a connection and the answer.
    var deadline = Deadline()
    var log: Log
}
