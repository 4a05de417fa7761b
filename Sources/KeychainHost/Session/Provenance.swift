public import KeychainModel
internal import TokenKit

/// Where an item comes from, and what stands between it and its use.
public struct Provenance: Sendable, Hashable {
    /// The name of the keychain: a file's, or a reader's.
    public let keychain: String
    /// What the item gives as its keychain.
    public let identifier: KeychainIdentifier
    /// Modules through which the card can be used as well, be they asked for it or not.
    public let otherLocations: [String]
    /// The token it is on.
    public let tokenID: String?
    /// Its object on the token: `9A`.
    public let slot: String?
    public let isReadOnly: Bool
    /// Whether a password has to be given before its secret is read.
    public let isLocked: Bool
    /// How often the token's PIN may still be tried, where it tells.
    public let triesLeft: Int?
}

extension KeychainSession {
    /// Where an item comes from. A token is asked for the tries that are left, which costs none.
    ///
    /// - Returns: nil if its keychain is not in the search list.
    public func provenance(of item: Item) -> Provenance? {
        Self.provenance(of: item, in: searchList.members)
    }

    static func provenance(of item: Item, in members: [any Keychain]) -> Provenance? {
        let parts = members.lazy.compactMap { $0.part(identifiedBy: item.keychain) }
        guard let keychain = parts.first else { return nil }
        let others = members.compactMap { $0 as? ModuleKeychain }.filter { module in
            ((try? module.sharedReaders()) ?? []).contains { ModuleSlot.isReader($0, keychain.name) }
        }
        return Provenance(
            keychain: keychain.name, identifier: item.keychain, otherLocations: others.map(\.name),
            tokenID: item.reference.tokenID,
            slot: item.reference.tokenObject?.rawValue, isReadOnly: keychain.isReadOnly,
            isLocked: keychain.needsPassword,
            triesLeft: keychain.triesLeft())
    }
}

extension Provenance {
    /// The dictionary form, `v_Provenance`.
    var dictionary: ItemDictionary {
        var dictionary: ItemDictionary = [
            "keychain": .string(keychain), "identifier": .string(identifier.rawValue), "readOnly": .bool(isReadOnly),
            "locked": .bool(isLocked),
        ]
        if !otherLocations.isEmpty { dictionary["otherLocations"] = .array(otherLocations.map { .string($0) }) }
        dictionary["token"] = tokenID.map { .string($0) }
        dictionary["slot"] = slot.map { .string($0) }
        dictionary["triesLeft"] = triesLeft.map { .number(Int64($0)) }
        return dictionary
    }
}
