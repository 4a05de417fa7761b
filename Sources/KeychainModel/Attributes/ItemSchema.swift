internal import Localization

/// The definition of one attribute: a row of the table that validation, the columns and indexes of the store, the
/// options of commands, and the reference page derive from (keychain semantics 1.2 and 1.3).
///
/// One code may have two rows: `type` is a number that a program chose for a password, and the kind of a key.
public struct AttributeDefinition: Sendable, Hashable {
    /// The places where the attribute may be given.
    public struct Uses: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// When an item is added.
        public static let add = Uses(rawValue: 1 << 0)
        /// A condition of a search.
        public static let find = Uses(rawValue: 1 << 1)
        /// A new value for existing items.
        public static let change = Uses(rawValue: 1 << 2)
        public static let all: Uses = [.add, .find, .change]
    }

    /// The four-character code.
    public let attribute: Attribute
    /// The rest of Apple's constant after `kSecAttr`: `Account`.
    public let name: String
    public let type: AttributeType
    /// The classes whose items have the attribute. Identities have the attributes of certificates and keys.
    public let classes: [ItemClass]
    /// Whether the attribute is one of those that together make items of these classes unique.
    public let isUnique: Bool
    public let uses: Uses
    /// The attribute's meaning, in one line.
    public let summary: String
    /// The option letter of commands; nil for an attribute without one.
    public let option: AttributeOption?
}

extension Attribute {
    /// The type of the attribute's values; nil if no class has an attribute of this code.
    public var type: AttributeType? { Self.types[self] }

    private static let types = Dictionary(
        AttributeDefinition.all.map { ($0.attribute, $0.type) }, uniquingKeysWith: { first, _ in first })
}

extension ItemClass {
    /// The rows of the table that concern the class; for an identity those of certificates, then those of keys.
    public var definitions: [AttributeDefinition] { schema.definitions }

    /// The attributes an item of the class can have; for an identity those of certificates and of keys.
    public var attributes: [Attribute] { definitions.map(\.attribute) }

    /// The row of an attribute; nil where items of the class have no attribute of this code.
    public func definition(of attribute: Attribute) -> AttributeDefinition? {
        schema.byAttribute[attribute]
    }

    /// Whether items of the class have this attribute.
    public func has(_ attribute: Attribute) -> Bool { definition(of: attribute) != nil }

    /// The attributes no two items of a keychain may share; an absent one counts as empty or 0.
    ///
    /// The token id completes the set across keychains: the same certificate on a card and in a file is two items.
    public var uniqueAttributes: [Attribute] { schema.unique }

    /// The values that make a new item of these attributes unique: the ``uniqueAttributes`` with their defaults, and
    /// absent ones as empty values. A query for them finds a duplicate.
    public func uniqueValues(of attributes: Attributes) -> Attributes {
        var values: Attributes = [.accessGroup: .string(AccessGroup.standard)]
        for attribute in uniqueAttributes {
            values[attribute] = attributes[attribute] ?? values[attribute] ?? definition(of: attribute)?.type.emptyValue
        }
        return values
    }

    /// The part of the table for one class.
    private final class Schema: Sendable {
        static let genericPassword = Schema(.genericPassword)
        static let internetPassword = Schema(.internetPassword)
        static let certificate = Schema(.certificate)
        static let key = Schema(.key)
        static let identity = Schema(.identity)

        let definitions: [AttributeDefinition]
        let byAttribute: [Attribute: AttributeDefinition]
        let unique: [Attribute]

        init(_ itemClass: ItemClass) {
            let parts: [ItemClass] = itemClass == .identity ? [.certificate, .key] : [itemClass]
            var definitions: [AttributeDefinition] = []
            var byAttribute: [Attribute: AttributeDefinition] = [:]
            for part in parts {
                for row in AttributeDefinition.all where row.classes.contains(part) {
                    // An attribute of both halves of an identity is listed once, among those of the certificate.
                    guard byAttribute.updateValue(row, forKey: row.attribute) == nil else { continue }
                    definitions.append(row)
                }
            }
            self.definitions = definitions
            self.byAttribute = byAttribute
            unique = definitions.filter { $0.isUnique && $0.classes.contains(parts[0]) }.map(\.attribute)
        }
    }

    /// A `switch` instead of a dictionary, since every search looks several times.
    private var schema: Schema {
        switch self {
        case .genericPassword: Schema.genericPassword
        case .internetPassword: Schema.internetPassword
        case .certificate: Schema.certificate
        case .key: Schema.key
        case .identity: Schema.identity
        }
    }
}

extension AttributeType {
    /// The value that an absent attribute is equal to.
    fileprivate var emptyValue: AttributeValue {
        switch self {
        case .string, .data, .code, .opaque: ""
        case .number: 0
        case .boolean: false
        case .date: .date(0)
        }
    }
}

extension ItemClass {
    /// The attributes as items of the class hold them, each converted to its type, names normalised.
    ///
    /// - Parameter use: the use that the attributes are given for.
    /// - Throws: `errSecParam` for a code no class has, one that is not for this use, or a value of the wrong kind;
    ///   `errSecNoSuchAttr` for a code that only other classes have. The error names the attribute.
    package func checked(
        _ attributes: Attributes, for use: AttributeDefinition.Uses = .find
    ) throws(KeychainError) -> Attributes {
        var result = attributes
        for (attribute, value) in attributes {
            guard let converted = try? checked(value, for: attribute, use) else {
                throw refusal(of: attributes, use)
            }
            if converted != value { result[attribute] = converted }
        }
        return result
    }

    /// The error of the first refused attribute, in the order of their codes.
    private func refusal(of attributes: Attributes, _ use: AttributeDefinition.Uses) -> KeychainError {
        for (attribute, value) in attributes.sorted(by: { $0.key < $1.key }) {
            do throws(KeychainError) { _ = try checked(value, for: attribute, use) } catch { return error }
        }
        return KeychainError(.internal)
    }

    private func checked(
        _ value: AttributeValue, for attribute: Attribute, _ use: AttributeDefinition.Uses
    ) throws(KeychainError) -> AttributeValue {
        guard let definition = definition(of: attribute) else { throw unknown(attribute) }
        guard definition.uses.isSuperset(of: use) else {
            throw KeychainError(.param, definition.refusal(of: use), key: attribute.rawValue)
        }
        guard let converted = value.converted(to: definition.type) else {
            throw KeychainError(
                .param, "the value of attribute \(attribute) is not \(definition.type.noun)", key: attribute.rawValue)
        }
        guard attribute == .subject || attribute == .issuer, let name = converted.bytes else { return converted }
        return .data(NormalizedName.content(of: name) ?? name)
    }

    private func unknown(_ attribute: Attribute) -> KeychainError {
        if AttributeDefinition.bookkeeping.contains(attribute) {
            return KeychainError(
                .param, "the attribute \(attribute) is the keychain's own", remedy: "leave it out",
                key: attribute.rawValue)
        }
        guard attribute.type != nil else {
            return KeychainError(.param, "there is no attribute \(attribute)", key: attribute.rawValue)
        }
        return KeychainError(
            .noSuchAttribute, "items of class \(rawValue) have no attribute \(attribute)", key: attribute.rawValue)
    }
}

extension AttributeDefinition {
    fileprivate func refusal(of use: Uses) -> LocalizedText {
        if use == .find { return "nothing can be found by attribute \(attribute)" }
        return uses.contains(.add)
            ? "attribute \(attribute) stays as it was added" : "attribute \(attribute) follows from the item itself"
    }
}
