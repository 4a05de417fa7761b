internal import CCryptoki
internal import CThinClient

// The module's state is that `C_Initialize` was called, and the connections to its host; AttributeMemory and BegunSignature cache
// answers of the host. The host has all other state.

let argumentsBad = Failure(CKR_ARGUMENTS_BAD)

extension Failure {
    /// Whether the error is ``HostNeed/isMissing``.
    var isMissingHost: Bool { !isHost && code == HostNeed.isMissing.code }
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
