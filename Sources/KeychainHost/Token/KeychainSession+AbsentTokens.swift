internal import KeychainModel
internal import Localization
internal import TokenKit

// Keychain semantics 7.4: known cards that are in no reader are shown only to a client that asks for them.
extension KeychainSession {
    /// The private key of an item that was found. Using a key on an absent card fails with an error that names the card.
    ///
    /// - Throws: `errSecItemNotFound` where it is no longer there.
    func key(of item: Item) throws(KeychainError) -> any KeychainKey {
        let selector = KeySelector.reference(item.reference)
        let list = item.isOnToken ? searchList : SearchList(members: (try? keychain(of: item)).map { [$0] } ?? [])
        if let key = try list.keys(selector).found.first { return key }
        if item.isOnToken, let key = try SearchList(members: absentTokens()).keys(selector).found.first { return key }
        throw KeychainError(.itemNotFound, "the key is no longer where it was found")
    }

    /// The known cards that are in no reader.
    @Sendable func absentTokens() -> [AbsentTokenKeychain] {
        AbsentTokenKeychain.all(of: knownTokens(), besides: searchList.members.compactMap { $0 as? TokenKeychain })
    }
}
