public import KeychainModel

extension LocalKeychain {
    /// Adds all items of a file, or none of them. Items that the keychain already has are left unchanged.
    ///
    /// - Parameter privateKeys: additional attributes of private keys.
    /// - Returns: certificates, public keys and private keys, in this order.
    /// - Throws: `errSecDuplicateItem` if the keychain has all items already, or has a private key under another protection; the
    ///   errors of unlocking and adding.
    public func add(
        _ file: ImportedFile, privateKeys: Attributes = [:],
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> [Item] {
        if !file.keys.isEmpty { try unlock(use: "import a key", authentication: authentication) }
        var (items, added): ([Item], [Item]) = ([], [])
        do throws(KeychainError) {
            try file.forEachItem(privateKeys: privateKeys) { new throws(KeychainError) in
                let item: Item
                do throws(KeychainError) {
                    item = try add(new, authentication: authentication)
                    added.append(item)
                } catch {
                    guard error.code == .duplicateItem, let twin = try new.equal(in: self) else { throw error }
                    item = twin
                    if item.isPrivateKey { try item.checkProtection(privateKeys) }
                }
                items.append(item)
            }
            guard !added.isEmpty else { throw KeychainError(.duplicateItem) }
            return items
        } catch {
            for item in added { _ = try? delete(matching: Query(item.reference)) }
            throw error
        }
    }
}
