internal import KeychainModel
internal import SystemCrypto

/// A find of a search: an item, or the certificate and the key of an identity.
enum FoundItem: Sendable {
    case item(Item)
    case identity(Identity)

    /// The item that gives data, label and keychain.
    var main: Item {
        switch self {
        case .item(let item): item
        case .identity(let identity): identity.certificate
        }
    }

    var reference: PersistentReference {
        switch self {
        case .item(let item): item.reference
        case .identity(let identity): identity.reference
        }
    }

    /// An identity has its certificate's attributes, and those that only its key has.
    var attributes: Attributes {
        switch self {
        case .item(let item): item.attributes
        case .identity(let identity):
            identity.certificate.attributes.merging(identity.key.attributes) { first, _ in first }
        }
    }

    var itemReference: ItemReference {
        switch self {
        case .item(let item): .item(item)
        case .identity(let identity): .identity(identity)
        }
    }
}

/// The shapes of keychain semantics 1.6.
extension ParsedDictionary.Returns {
    /// Whether only data are wanted, so that data which may not leave the keychain are an error.
    var isDataAlone: Bool { self == .data }

    /// The result of the found items; nil where none is wanted.
    ///
    /// - Parameter data: the data of each; nil for an item without data, or whose data may not leave.
    func value(of found: [(FoundItem, data: ItemValue?, provenance: ItemDictionary?)], isArray: Bool) -> ItemValue? {
        guard !isEmpty else { return nil }
        let values = found.map { value(of: $0, data: $1, provenance: $2) }
        return isArray ? .array(values) : values.first
    }

    private func value(of found: FoundItem, data: ItemValue?, provenance: ItemDictionary?) -> ItemValue {
        switch self {
        case .data: return data ?? .data([])
        case .reference: return .reference(found.itemReference)
        case .persistentReference: return .data(found.reference.encoded())
        default: break
        }
        var dictionary: ItemDictionary = [:]
        if contains(.attributes) {
            for (attribute, value) in found.attributes { dictionary[attribute.rawValue] = ItemValue(value) }
            dictionary["class"] = .string(found.reference.itemClass.rawValue)
        }
        if contains(.data) { dictionary["v_Data"] = data }
        if contains(.reference) { dictionary["v_Ref"] = .reference(found.itemReference) }
        if contains(.persistentReference) { dictionary["v_PersistentRef"] = .data(found.reference.encoded()) }
        if let provenance { dictionary["v_Provenance"] = .dictionary(provenance) }
        return .dictionary(dictionary)
    }
}
