internal import HostAPI
internal import KeychainModel

extension FoundItem {
    /// An identity has its certificate's attributes, and those that only its key has.
    fileprivate var attributes: Attributes {
        guard let key else { return item.attributes }
        return item.attributes.merging(key.attributes) { first, _ in first }
    }

    fileprivate var itemReference: ItemReference { identity.map { .identity($0) } ?? .item(item) }
}

/// The shapes of keychain semantics 1.6.
extension ParsedDictionary.Returns {
    /// Whether only data are wanted, so that data which may not leave the keychain are an error.
    var isDataAlone: Bool { self == .data }

    /// The result of a search; nil where none is wanted.
    ///
    /// - Parameter keychains: the keychains of the items, for their provenance.
    func value(of found: [FoundItem], in keychains: [KeychainDetails], isArray: Bool) -> ItemValue? {
        guard !isEmpty else { return nil }
        func value(of found: FoundItem) -> ItemValue {
            let data = contains(.data) ? found.data : nil
            return self.value(
                of: found, data: data, keychains.first { $0.keychain.identifier == found.item.keychain })
        }
        return isArray ? .array(found.map(value)) : found.first.map(value)
    }

    /// The result of one item; nil where none is wanted.
    ///
    /// - Parameters:
    ///   - data: nil for an item without data, or whose data may not leave.
    ///   - keychain: the item's keychain, where it is wanted.
    func value(of found: FoundItem, data: ItemValue?, in keychain: KeychainDetails?) -> ItemValue? {
        isEmpty ? nil : value(of: found, data: data, keychain)
    }

    private func value(of found: FoundItem, data: ItemValue?, _ keychain: KeychainDetails?) -> ItemValue {
        switch self {
        case .data: return data ?? .data([])
        case .reference: return .reference(found.itemReference)
        case .persistentReference: return .data(found.reference.encoded())
        default: break
        }
        var dictionary = ItemDictionary(minimumCapacity: contains(.attributes) ? found.item.attributes.count + 5 : 5)
        if contains(.attributes) {
            for (attribute, value) in found.attributes { dictionary[attribute.rawValue] = ItemValue(value) }
            dictionary["class"] = .string(found.reference.itemClass.rawValue)
        }
        if contains(.data) { dictionary["v_Data"] = data }
        if contains(.reference) { dictionary["v_Ref"] = .reference(found.itemReference) }
        if contains(.persistentReference) { dictionary["v_PersistentRef"] = .data(found.reference.encoded()) }
        if let keychain { dictionary["v_Provenance"] = .dictionary(keychain.provenance(of: found.item)) }
        return .dictionary(dictionary)
    }
}
