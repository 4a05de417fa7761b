internal import CCryptoki
internal import CPKCS11Module

// The module's state is that `C_Initialize` was called, and the connections to its host; AttributeMemory and BegunSignature cache
// answers of the host. The host has all other state.

/// The reason that a function failed.
struct Failure: Error {
    let code: CK_RV
    /// The reason for the log, where the code does not tell it.
    let reason: StaticString
    /// Whether the failure concerns a host that exists, or should.
    let isHost: Bool
    /// Whether the host is known not to have read the call.
    let isUnread: Bool

    init(_ code: CK_RV, isHost: Bool = true, isUnread: Bool = false, _ reason: StaticString = "") {
        self.code = code
        self.reason = reason
        self.isHost = isHost
        self.isUnread = isUnread
    }
}

extension Failure {
    /// Whether the error is ``Host/isMissing``.
    var isMissingHost: Bool { !isHost && code == Host.isMissing.code }
}

let argumentsBad = Failure(CKR_ARGUMENTS_BAD)
let hostFailed = Failure(CKR_DEVICE_ERROR, "the host of the keychains has ended, or does not answer")
let hostEnded = Failure(CKR_DEVICE_ERROR, isUnread: true, "the host of the keychains has ended")

/// The process and the round in which the module was initialised, in one word that a child by `fork` can read without a lock.
enum Initialisation {
    /// Nil where this process has not initialised the module, whatever its parent did.
    static var current: UInt64? {
        let value = tokenkit_load(word)
        return isOwn(value) && value & (unfinished | ending) == 0 ? value : nil
    }

    /// Whether the module is still in the initialisation in which a call began. Asks no process id: a forked child runs no call that its
    /// parent began.
    static func isCurrent(_ value: UInt64) -> Bool { tokenkit_load(word) == value }

    /// Whether the initialisation has its connections: it is current, or `C_Finalize` is about to close them.
    static func hasNotEnded(_ value: UInt64) -> Bool { tokenkit_load(word) & ~ending == value }

    /// - Throws: `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    static func begin() throws(Failure) {
        let before = tokenkit_load(word)
        guard !isOwn(before) else { throw begunElsewhere() }
        tokenkit_wipe_on_fork()
        let round = (tokenkit_load(rounds) &+ 1) & 0x3FFF_FFFF
        let value = UInt64(UInt32(bitPattern: getpid())) << 32 | round << 1
        guard tokenkit_replace(word, before, value | unfinished) != 0 else { throw begunElsewhere() }
        tokenkit_store(rounds, round)
        // In a child by fork the connections are copies of its parent's, which no thread of the child has taken yet: they are
        // dropped, whatever the parent was doing, and whether or not its module was initialised.
        let process = UInt64(UInt32(bitPattern: getpid()))
        if tokenkit_load(owner) != process { Connections.forget() }
        tokenkit_store(owner, process)
        HostSearch.FailedStarts.forget()
        tokenkit_store(word, value)
    }

    /// The failure of `C_Initialize` in a second thread. Waits until the first thread has initialised the module, since the second one may
    /// call the module right after it.
    private static func begunElsewhere() -> Failure {
        var looks = 1_000
        while looks > 0, isOwn(tokenkit_load(word)), tokenkit_load(word) & unfinished != 0 {
            usleep(1_000)
            looks -= 1
        }
        return Failure(CKR_CRYPTOKI_ALREADY_INITIALIZED)
    }

    /// Begins the end of an initialisation: from now on it is not the present one, so that calls which the host ends fail as calls
    /// of a module that is not initialised.
    ///
    /// - Throws: `CKR_CRYPTOKI_NOT_INITIALIZED`.
    static func beginEnd(_ value: UInt64) throws(Failure) {
        guard tokenkit_replace(word, value, value | ending) != 0 else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
    }

    static func end(_ value: UInt64) { _ = tokenkit_replace(word, value | ending, 0) }

    private static var word: Int32 { Int32(tokenkit_word_initialisation) }
    private static var owner: Int32 { Int32(tokenkit_word_process) }
    private static var rounds: Int32 { Int32(tokenkit_word_rounds) }
    private static var unfinished: UInt64 { 1 }
    private static var ending: UInt64 { 1 << 31 }

    /// Whether the value has the id of this process. A parent's word is gone where the kernel wipes it.
    private static func isOwn(_ value: UInt64) -> Bool { process(of: value) == UInt64(UInt32(bitPattern: getpid())) }

    /// Whether a connection that was made in a round is of this process, and not of a parent.
    static func isOfOwner(_ value: UInt64) -> Bool { isOwn(value) && process(of: value) == tokenkit_load(owner) }

    private static func process(of value: UInt64) -> UInt64 { value >> 32 }
}

/// Runs a function's body, logs the result, and gives C the return value.
///
/// The thread cannot be cancelled meanwhile, since its connection, or the search for a host, would stay taken for ever.
func perform(
    _ name: StaticString = #function, _ body: (inout CallContext) throws(Failure) -> Void
) -> CK_RV {
    guard let initialisation = Initialisation.current else { return CKR_CRYPTOKI_NOT_INITIALIZED }
    let wasCancelable = tokenkit_set_cancelable(0)
    defer { _ = tokenkit_set_cancelable(wasCancelable) }
    var context = CallContext(initialisation: initialisation, log: Log(name))
    do throws(Failure) {
        try body(&context)
        return context.log.end(CKR_OK)
    } catch {
        // C_Finalize takes the connection, the session or the slots from calls of other threads, which it does not wait for.
        guard Initialisation.isCurrent(initialisation) else { return context.log.end(CKR_CRYPTOKI_NOT_INITIALIZED) }
        return context.log.end(error.code, error.reason)
    }
}

/// The state of one call, which is passed down to the host's connection.
struct CallContext {
    let initialisation: UInt64
    /// Whether other threads' connections are waited for.
    var waits = true
    /// Whether the call waits for an event, and may do so for any time.
    var awaitsEvent = false
    /// The time until which the call waits for a host, a connection and the answer.
    var deadline = Deadline()
    var log: Log
}
