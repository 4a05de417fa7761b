public import KeychainModel

/// The part of the host's face that concerns its own process.
public protocol HostStateService: Sendable {
    /// The host's process, and the programs that it serves.
    func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus

    /// The last uses of keys, passwords and logins by all clients of the host.
    ///
    /// - Parameters:
    ///   - position: the position of a former page; nil for all events that the journal has.
    ///   - patience: how long to wait for an event where there is none.
    func journal(
        after position: UInt64?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> JournalPage

    /// The decisions on whether programs may use items without a question. Has no secret, and sends no card a command.
    ///
    /// - Parameter keychains: those whose items they are about; nil for those of the search list, and for decisions that end with the host's
    ///   process. A locked one is a gap of the answer: its decisions are sealed.
    /// - Throws: `errSecNotAvailable` from a host that serves one program, and so asks about none.
    func accessDecisions(
        in keychains: [KeychainIdentifier]?, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[AccessEntry]>

    /// Decides on whether programs may use items without a question. A person has to agree to what a program is allowed, and is asked by the
    /// host itself; unless the asking program has made the item.
    ///
    /// - Returns: the number of decisions that were made or forgotten.
    /// - Throws: `errSecNotAvailable` as ``accessDecisions(in:_:)``; `errSecParam` for a program that no decision can be about, and an item
    ///   that no program needs permission for; `errSecInteractionNotAllowed` where no person can be asked, or the keychain is locked;
    ///   `errSecUserCanceled`, `errSecItemNotFound`.
    func changeAccess(_ change: AccessChange, _ context: RequestContext) throws(KeychainError) -> Int

    /// The decisions on whether programs may use an item without a question. Has no secret.
    ///
    /// - Throws: `errSecNotAvailable` as ``accessDecisions(in:_:)``; `errSecParam` for an item that no program needs permission for;
    ///   `errSecInteractionNotAllowed` where its keychain is locked; `errSecItemNotFound`.
    func access(to item: PersistentReference, _ context: RequestContext) throws(KeychainError) -> ItemAccess
}
