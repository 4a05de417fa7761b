internal import HostAPI
internal import KeychainModel
internal import SecureBytes

/// The result of an import: the new items, and those that were there already and stay unchanged.
struct ImportOutcome {
    private let location: String
    let added: [Item]
    private let existing: [Item]

    /// - Parameter location: the place of the keychain that took the file.
    init(_ content: ImportedContent, to location: String) {
        self.location = location
        let items: [ImportedItem] = if case .items(let items) = content.content { items } else { [] }
        added = items.filter(\.isNew).map(\.item)
        existing = items.filter { !$0.isNew }.map(\.item)
    }

    // MARK: Reports

    private struct Report: Encodable {
        let items: [ItemText.JSONItem]
        let existing: [ItemText.JSONItem]
        let duplicates: Int
    }

    func showJSON() throws {
        func shown(_ items: [Item]) -> [ItemText.JSONItem] {
            items.map { ItemText.JSONItem($0, keychain: location) }
        }
        try Listing.showJSON(
            Report(items: shown(added), existing: shown(existing), duplicates: existing.count))
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
            let reference = key.reference.hexText
            Warnings.show(
                "warning: the key '\(key.label ?? "")' was there already and can still be exported "
                    + "(use 'tokenctl item -u extr=0 v_PersistentRef=\(reference)')")
        }
    }
}
