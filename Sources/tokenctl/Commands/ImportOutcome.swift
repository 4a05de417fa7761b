internal import KeychainModel
internal import KeychainHost
internal import SecureBytes

/// The result of an import: the new items, and those that were there already and stay unchanged.
struct ImportOutcome {
    private let keychain: LocalKeychain
    private var added: [Item] = []
    private var existing: [Item] = []

    init(_ keychain: LocalKeychain) {
        self.keychain = keychain
    }

    mutating func add(_ item: NewItem) throws(KeychainError) {
        do throws(KeychainError) {
            added.append(try keychain.add(item))
        } catch {
            guard error.code == .duplicateItem, let old = try item.equal(in: keychain) else { throw error }
            existing.append(old)
        }
    }

    // MARK: Reports

    private struct Report: Encodable {
        let items: [ItemText.JSONItem]
        let existing: [ItemText.JSONItem]
        let duplicates: Int
        let failure: String?
    }

    func showJSON(failure: (any Error)? = nil) throws {
        func shown(_ items: [Item]) -> [ItemText.JSONItem] {
            items.map { ItemText.JSONItem($0, keychain: keychain.path) }
        }
        try Listing.showJSON(
            Report(
                items: shown(added), existing: shown(existing), duplicates: existing.count,
                failure: failure.map { "\($0)" }))
    }

    func report() {
        for text in ImportOutcome.counts(added) { StandardOutput.line("\(text) imported.") }
        for text in ImportOutcome.counts(existing, were: true) { StandardOutput.line("\(text) there already.") }
    }

    /// The number of items of each kind. A certificate and its key count as one identity.
    private static func counts(_ items: [Item], were: Bool = false) -> [String] {
        let keys = items.filter { $0.itemClass == .key }
        let certificates = items.filter { $0.itemClass == .certificate }
        let hashes = Set(certificates.map(\.publicKeyHash))
        let identities = keys.count { $0.isPrivateKey && hashes.contains($0.publicKeyHash) }
        let kinds = [
            (identities, "identity", "identities"), (keys.count - identities, "key", "keys"),
            (max(certificates.count - identities, 0), "certificate", "certificates"),
        ]
        return kinds.filter { $0.0 > 0 }.map { count, one, many in
            let verb = were ? (count == 1 ? " was" : " were") : ""
            return "\(count) \(count == 1 ? one : many)\(verb)"
        }
    }

    /// Warns of private keys that can still be exported in spite of -x, because they were there already.
    func warnOfExtractableKeys() {
        for key in existing where key.isPrivateKey && key[.isExtractable]?.isTrue != false {
            let reference = Hex.encode(key.reference.encoded())
            Warnings.show(
                "warning: the key '\(key.label ?? "")' was there already and can still be exported "
                    + "(use 'tokenctl item -u extr=0 v_PersistentRef=\(reference)')")
        }
    }
}
