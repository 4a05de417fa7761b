internal import HostAPI
internal import KeychainModel
internal import Localization
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
        for kind in ImportOutcome.kinds(of: added) { StandardOutput.line(localized: kind.imported) }
        for kind in ImportOutcome.kinds(of: existing) { StandardOutput.line(localized: kind.existing) }
    }

    /// The number of items of each kind. A certificate and its key count as one identity.
    private static func kinds(of items: [Item]) -> [Kind] {
        let keys = items.filter { $0.itemClass == .key }
        let certificates = items.filter { $0.itemClass == .certificate }
        let hashes = Set(certificates.map(\.publicKeyHash))
        let identities = keys.count { $0.isPrivateKey && hashes.contains($0.publicKeyHash) }
        let kinds: [Kind] = [
            .identities(identities), .keys(keys.count - identities),
            .certificates(max(certificates.count - identities, 0)),
        ]
        return kinds.filter { $0.count > 0 }
    }

    private enum Kind {
        case identities(Int)
        case keys(Int)
        case certificates(Int)

        var count: Int {
            switch self {
            case .identities(let count), .keys(let count), .certificates(let count): count
            }
        }

        var imported: LocalizedText {
            switch self {
            case .identities(let count):
                .plural(count, one: "\(count) identity imported.", other: "\(count) identities imported.")
            case .keys(let count): .plural(count, one: "\(count) key imported.", other: "\(count) keys imported.")
            case .certificates(let count):
                .plural(count, one: "\(count) certificate imported.", other: "\(count) certificates imported.")
            }
        }

        var existing: LocalizedText {
            switch self {
            case .identities(let count):
                .plural(
                    count, one: "\(count) identity was there already.", other: "\(count) identities were there already."
                )
            case .keys(let count):
                .plural(count, one: "\(count) key was there already.", other: "\(count) keys were there already.")
            case .certificates(let count):
                .plural(
                    count, one: "\(count) certificate was there already.",
                    other: "\(count) certificates were there already.")
            }
        }
    }

    /// Warns of private keys that can still be exported in spite of -x, because they were there already.
    func warnOfExtractableKeys() {
        for key in existing where key.isPrivateKey && key[.isExtractable]?.isTrue != false {
            let reference = key.reference.hexText
            Warnings.show(
                """
                warning: the key '\(key.label ?? "")' was there already and can still be exported (use 'tokenctl item -u extr=0 \
                v_PersistentRef=\(reference)')
                """)
        }
    }
}
