package import CCryptoki
internal import SecureBytes

/// The attributes that a program asks for, or gives: a copy of its `CK_ATTRIBUTE` array. Attributes that may be secret are kept
/// apart, and are wiped when the last copy of the template ends.
package struct Template: Sendable {
    private(set) var attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = []
    private var secrets: [(type: CK_ATTRIBUTE_TYPE, value: SharedSecret)] = []

    package init(_ attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = []) {
        for (type, value) in attributes { append(type, value.span) }
    }

    package mutating func append(_ type: CK_ATTRIBUTE_TYPE, _ value: Span<UInt8>) {
        if PrivateNumbers.all.contains(type) {
            secrets.append((type, SharedSecret(Secret(copying: value))))
        } else {
            attributes.append((type, value.indices.map { value[$0] }))
        }
    }

    /// The types of all attributes.
    var types: [CK_ATTRIBUTE_TYPE] { attributes.map(\.type) + secretTypes }

    var secretTypes: [CK_ATTRIBUTE_TYPE] { secrets.map(\.type) }

    /// The value of an attribute that is no secret.
    subscript(_ type: CK_ATTRIBUTE_TYPE) -> [UInt8]? {
        attributes.first { $0.type == type }?.value
    }

    /// The value of an attribute that may be a secret: `CKA_VALUE` of any object, and the numbers of private keys.
    func secret(_ type: CK_ATTRIBUTE_TYPE) -> Secret? {
        secrets.first { $0.type == type }?.value.secret.clone()
    }

    func without(_ type: CK_ATTRIBUTE_TYPE) -> Template {
        var others = self
        others.attributes.removeAll { $0.type == type }
        others.secrets.removeAll { $0.type == type }
        return others
    }

    /// Whether all values that may be secrets equal those of an object.
    func hasSecrets(of object: [CK_ATTRIBUTE_TYPE: [UInt8]]) -> Bool {
        secrets.allSatisfy { type, value in
            guard let own = object[type] else { return false }
            return value.secret.equals(Secret(copying: own.span))
        }
    }

    /// The type of an attribute that occurs twice, with different values.
    var ambiguousType: CK_ATTRIBUTE_TYPE? {
        attributes.first { self[$0.type] != $0.value }?.type
            ?? secrets.first { type, value in
                secrets.first { $0.type == type }.map { $0.value != value } ?? false
            }?.type
    }

    /// - Throws: `CKR_ATTRIBUTE_VALUE_INVALID` for a value of another size.
    func ulong(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> CK_ULONG? {
        guard let value = self[type] else { return nil }
        guard let number = Encoded.ulong(in: value) else { throw Template.invalid(type) }
        return number
    }

    /// - Throws: `CKR_ATTRIBUTE_VALUE_INVALID` for a value of another size.
    func bool(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> Bool? {
        guard let value = self[type] else { return nil }
        guard let flag = Encoded.bool(in: value) else { throw Template.invalid(type) }
        return flag
    }

    func text(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> String? {
        guard let value = self[type] else { return nil }
        guard let text = String(validating: value, as: UTF8.self) else { throw Template.invalid(type) }
        return text
    }

    /// - Throws: `CKR_TEMPLATE_INCOMPLETE` where it is missing.
    func required(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> [UInt8] {
        guard let value = self[type] else { throw Template.missing(type) }
        return value
    }

    /// - Throws: `CKR_TEMPLATE_INCOMPLETE` where it is missing.
    func requiredSecret(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> Secret {
        guard let value = secret(type) else { throw Template.missing(type) }
        return value
    }

    /// The class that objects must have; nil for any.
    var objectClass: CK_OBJECT_CLASS? { self[CKA_CLASS].flatMap { Encoded.ulong(in: $0) } }

    /// Whether an object may be of the class.
    func allows(_ objectClass: CK_OBJECT_CLASS) -> Bool {
        self[CKA_CLASS].map { $0 == Encoded.ulong(objectClass) } ?? true
    }

    static func missing(_ type: CK_ATTRIBUTE_TYPE) -> CryptokiError {
        CryptokiError(CKR_TEMPLATE_INCOMPLETE, "attribute 0x\(String(type, radix: 16)) is missing")
    }

    static func invalid(_ type: CK_ATTRIBUTE_TYPE) -> CryptokiError {
        CryptokiError(CKR_ATTRIBUTE_VALUE_INVALID, "attribute 0x\(String(type, radix: 16))")
    }
}
