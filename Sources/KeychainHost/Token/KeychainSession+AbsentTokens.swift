public import KeychainModel
internal import TokenKit

// Keychain semantics 7.4: who asks for it sees cards that are known and in no reader.
extension KeychainSession {
    /// The private key of an item that was found; what uses one on a card that is out says which to insert.
    ///
    /// - Throws: `errSecItemNotFound` where it is no longer there.
    public func key(of item: Item) throws(KeychainError) -> any KeychainKey {
        let selector = KeySelector.reference(item.reference)
        if let key = try searchList.keys(selector).found.first { return key }
        if item.isOnToken, let key = try absentKeys(selector).first { return key }
        throw KeychainError(.itemNotFound, "the key is no longer where it was found")
    }

    /// Private keys of cards that are known and in no reader; what uses one says which card to insert.
    public func absentKeys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        var keys: [any KeychainKey] = []
        for token in absentTokens() { keys += try token.keys(selector) }
        return keys
    }

    /// The cards that are known and in no reader.
    @Sendable func absentTokens() -> [AbsentTokenKeychain] {
        AbsentTokenKeychain.all(of: knownTokens(), besides: searchList.members.compactMap { $0 as? TokenKeychain })
    }
}
