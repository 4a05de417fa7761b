package import CCryptoki

/// The attributes that a program asks for, or gives: a copy of its `CK_ATTRIBUTE` array.
package struct Template: Sendable {
    package let attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])]

    package init(_ attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = []) {
        self.attributes = attributes
    }

    subscript(_ type: CK_ATTRIBUTE_TYPE) -> [UInt8]? {
        attributes.first { $0.type == type }?.value
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
        guard let value = self[type] else {
            throw CryptokiError(CKR_TEMPLATE_INCOMPLETE, "attribute 0x\(String(type, radix: 16)) is missing")
        }
        return value
    }

    /// The class that objects have to be of; nil for any.
    var objectClass: CK_OBJECT_CLASS? { self[CKA_CLASS].flatMap { Encoded.ulong(in: $0) } }

    /// Whether an object may be of the class.
    func allows(_ objectClass: CK_OBJECT_CLASS) -> Bool {
        self[CKA_CLASS].map { $0 == Encoded.ulong(objectClass) } ?? true
    }

    static func invalid(_ type: CK_ATTRIBUTE_TYPE) -> CryptokiError {
        CryptokiError(CKR_ATTRIBUTE_VALUE_INVALID, "attribute 0x\(String(type, radix: 16))")
    }
}
