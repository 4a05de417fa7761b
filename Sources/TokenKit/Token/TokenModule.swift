/// A source of tokens beside this program's readers: another maker's module.
public protocol TokenModule: AnyObject, Sendable {
    /// The name for people.
    var name: String { get }

    /// The module's file; nil for a module that has none here.
    var path: String? { get }

    /// The first part of the ``TokenID`` of the module's tokens.
    var driver: String { get }

    /// Whether all tokens of the module are cards in PC/SC readers, as this program's own are.
    var readsCardsAlone: Bool { get }

    /// The present tokens. Each has the same ``TokenBackend`` for as long as it stays.
    ///
    /// - Throws: ``TokenError`` where the module does not answer, or cannot be used.
    func tokens() throws(TokenError) -> [ModuleSlot]
}

/// A module whose tokens' logins several clients have in common.
package protocol SharedTokenModule: AnyObject, Sendable {
    /// The names of the slots whose token has a login. Does not wait.
    var slotsWithPIN: [String] { get }

    /// Ends the logins of all tokens, for all clients. Waits for a request that is under way.
    func forgetPINs()
}

/// A slot of a module, with a token in it.
public struct ModuleSlot: Sendable {
    /// The module's name of the slot; for one that is a reader of the PC/SC service, that reader's name.
    public let reader: String
    public let slot: any TokenBackend

    /// Whether a module's slot description means the reader of that name, which may be cut to 64 bytes (`CK_SLOT_INFO`).
    public static func isReader(_ description: String, _ name: String) -> Bool {
        guard name.utf8.count > 64 else { return description == name }
        return description.utf8.count > 60 && name.utf8.starts(with: description.utf8)
    }

    public init(reader: String, slot: any TokenBackend) {
        self.reader = reader
        self.slot = slot
    }
}
