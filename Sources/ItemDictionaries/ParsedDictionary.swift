package import KeychainModel
internal import Localization
internal import SystemCrypto

/// The contents of a dictionary of the `SecItem` interface, whose keys are all known and legal for the operation.
struct ParsedDictionary {
    /// The operation that a dictionary is given for, keychain semantics 1.7.
    enum Operation: Sendable {
        case add, copy, update, delete
        /// The second dictionary of an update.
        case change
    }

    /// The treatment of items for which a person would have to be asked.
    enum AuthenticationUI: Sendable {
        case allow
        /// The operation fails with `errSecInteractionNotAllowed`.
        case fail
        /// Such items are left out. Only for searches.
        case skip
    }

    /// The parts that a result is to hold.
    struct Returns: OptionSet {
        let rawValue: UInt8
        static let data = Returns(rawValue: 1 << 0)
        static let attributes = Returns(rawValue: 1 << 1)
        static let reference = Returns(rawValue: 1 << 2)
        static let persistentReference = Returns(rawValue: 1 << 3)
        static let provenance = Returns(rawValue: 1 << 4)
    }

    var itemClass: ItemClass?
    var attributes: Attributes = [:]
    var filters: [Filter] = []
    var folding: Folding = []
    var limit: Query.Limit?
    var searchList: [KeychainIdentifier]?
    var returns: Returns = []
    /// `v_Data`: a secret, or the DER of a certificate.
    var data: ItemValue?
    var reference: ItemReference?
    var persistentReference: PersistentReference?
    var authenticationUI = AuthenticationUI.allow
    var prompt: String?
    var target: KeychainIdentifier?
    var isLocalOnly = false
    var isDistinct = false
    var includesAbsentTokens = false

    /// The maximum number of keys in a dictionary.
    static let maximumCount = 128

    /// - Throws: `errSecParam`, `errSecNoSuchAttr`, `errSecNoSuchClass` or `errSecUnimplemented`, naming the key, for whatever
    ///   cannot be honoured.
    init(_ dictionary: ItemDictionary, for operation: Operation) throws(KeychainError) {
        guard dictionary.count <= Self.maximumCount else {
            throw KeychainError(
                .param, "a dictionary may have \(Self.maximumCount) keys, and this one has \(dictionary.count)")
        }
        for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) {
            try read(key, value, operation)
        }
        if authenticationUI == .skip, operation != .copy {
            throw KeychainError(.param, "only a search can leave items out", key: "u_AuthUI")
        }
        if operation == .update || operation == .delete, let limit, limit != .all {
            throw KeychainError(
                .param, "a change concerns every item that matches",
                remedy: "leave the limit out, or name the items with m_ItemList", key: "m_Limit")
        }
        if includesAbsentTokens, searchList != nil {
            throw KeychainError(
                .param, "the search list says which keychains are meant", remedy: "leave one out",
                key: "u_AbsentTokens")
        }
        if operation != .change { itemClass = try resolvedClass() }
        if operation != .add { try checkPersistentReference(of: dictionary) }
    }

    private mutating func read(
        _ key: String, _ value: ItemValue, _ operation: Operation
    ) throws(KeychainError) {
        if let known = DictionaryKey.table[key] {
            guard known.operations.contains(operation) else {
                throw KeychainError(.param, "\(key) has no place \(operation.place)", key: key)
            }
            guard try known.read(value, &self) else { throw .unfitting(key) }
        } else if key.utf8.count == 4 {
            guard let value = value.attributeValue else { throw .unfitting(key) }
            attributes[Attribute(rawValue: key)] = value
        } else {
            throw KeychainError(.param, "there is no key \(key)", key: key)
        }
    }

    /// The class that the dictionary names, or that of its reference.
    private func resolvedClass() throws(KeychainError) -> ItemClass {
        let referred = persistentReference?.itemClass ?? reference?.itemClass ?? classOfItemList
        guard let known = itemClass ?? referred else {
            throw KeychainError(.param, "the class is missing", remedy: "say which with class", key: "class")
        }
        if let referred, referred != known {
            throw KeychainError(
                .param, "the reference is to \(referred.anyNoun), not to \(known.anyNoun)", key: "class")
        }
        return known
    }

    /// The class of the items in `m_ItemList`, if all of them have the same.
    private var classOfItemList: ItemClass? {
        guard case .items(let list)? = filters.first(where: { $0.key == "m_ItemList" }) else { return nil }
        let classes = Set(list.references.map(\.itemClass)).union(list.certificates.isEmpty ? [] : [.certificate])
        return classes.count == 1 && itemClass == nil ? classes.first : nil
    }

    /// Checks that no attribute comes with a persistent reference, except the token's id with a token's reference.
    private func checkPersistentReference(of dictionary: ItemDictionary) throws(KeychainError) {
        guard let persistentReference else { return }
        if reference != nil {
            throw KeychainError(.param, "there are two references", remedy: "leave one out", key: "v_Ref")
        }
        let allowed: [Attribute] = persistentReference.tokenID == nil ? [] : [.tokenID]
        for attribute in attributes.keys.sorted() where !allowed.contains(attribute) {
            throw KeychainError(
                .param, "\(attribute) cannot be combined with a persistent reference", remedy: "leave it out",
                key: attribute.rawValue)
        }
    }
}

extension ItemDictionary {
    /// The attributes of a key to be made or read, with defaults.
    ///
    /// - Throws: as an addition does for what cannot be honoured.
    package func keyAttributes() throws(KeychainError) -> Attributes {
        let parsed = try ParsedDictionary(
            merging(["class": .string(ItemClass.key.rawValue)]) { given, _ in given }, for: .add)
        guard parsed.itemClass == .key else { throw KeychainError(.param, "the item is not a key", key: "class") }
        guard parsed.data == nil, parsed.reference == nil else {
            throw KeychainError(.param, "there is a key already", key: parsed.data == nil ? "v_Ref" : "v_Data")
        }
        return try ItemClass.key.checkedForStorage(parsed.attributes, for: .add)
    }
}

extension ParsedDictionary.Operation {
    fileprivate var place: String {
        switch self {
        case .add: "when an item is added"
        case .copy: "in a search"
        case .update: "in the query of an update"
        case .delete: "when items are deleted"
        case .change: "among changes"
        }
    }
}

extension ItemReference {
    /// The item class; nil for a value that is not an item.
    var itemClass: ItemClass? {
        switch self {
        case .item(let item): item.itemClass
        case .identity, .keyPair, .certified: .identity
        case .certificate: .certificate
        case .publicKey, .privateKey, .symmetricKey: .key
        case .keychain, .policy: nil
        }
    }
}

extension KeychainError {
    /// The error of a value that is of a wrong kind for its key.
    static func unfitting(_ key: String) -> KeychainError {
        KeychainError(.param, "the value of \(key) is of a wrong kind", key: key)
    }
}
