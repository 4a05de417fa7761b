/// The functions of SecKeychain.h that the host answers. The library answers the others itself.
package enum KeychainFunction: UInt64, CaseIterable {
    /// The path of the keychain with a name.
    case path = 1
    case create = 2
    case deleteKeychain = 3
    case defaultPath = 4
    case setDefault = 5
    case lock = 6
    case lockAll = 7
    case unlock = 8
    case status = 9
    case add = 10
    case find = 11
    case search = 12
    /// The item of a persistent reference.
    case item = 13
    case content = 14
    case change = 15
    case copy = 16
    case delete = 17
    /// The programs that may read an item without a question.
    case access = 18
    case setAccess = 19
}

/// A call of a function of SecKeychain.h: the values of its arguments, without pointers. A password that it gives is the secret of its
/// message.
package struct KeychainCall: Equatable {
    package var function: KeychainFunction
    /// Whether people may be asked.
    package var allowsQuestions: Bool
    /// Whether a password is given as the message's secret, or wanted with the answer.
    package var hasPassword: Bool
    /// The keychain's path, or the name of which the path is wanted; nil for the default keychain, or for the whole search list.
    package var keychain: [UInt8]?
    /// The path of the keychain that a copy is added to; nil for the default one.
    package var target: [UInt8]?
    /// The item's persistent reference; empty where the function takes none.
    package var item: [UInt8]
    /// The code of the class of items; 0 where the function takes none.
    package var itemClass: UInt64
    /// Attributes with values, or for ``KeychainFunction/content`` the wanted ones, which have none.
    package var attributes: [KeychainAttribute]
    /// The programs that may read the item without a question from now on; nil where the function does not change them.
    package var access: [KeychainProgram]?

    /// Attributes that a call may have.
    package static let maximumAttributes = 1 << 12

    package init(
        _ function: KeychainFunction, allowsQuestions: Bool, hasPassword: Bool = false, keychain: [UInt8]? = nil,
        target: [UInt8]? = nil, item: [UInt8] = [], itemClass: UInt64 = 0, attributes: [KeychainAttribute] = [],
        access: [KeychainProgram]? = nil
    ) {
        self.function = function
        self.allowsQuestions = allowsQuestions
        self.hasPassword = hasPassword
        self.keychain = keychain
        self.target = target
        self.item = item
        self.itemClass = itemClass
        self.attributes = attributes
        self.access = access
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        guard let function = KeychainFunction(rawValue: try reader.number()) else { throw .malformed }
        self.function = function
        allowsQuestions = try reader.flag()
        hasPassword = try reader.flag()
        keychain = try reader.optionalByteString()
        target = try reader.optionalByteString()
        item = try reader.byteString()
        itemClass = try reader.number()
        attributes = try KeychainAttribute.list(from: &reader)
        access = reader.isAtEnd ? nil : try KeychainProgram.list(from: &reader)
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(function.rawValue)
        writer.append(allowsQuestions)
        writer.append(hasPassword)
        writer.append(ifAny: keychain)
        writer.append(ifAny: target)
        writer.append(item)
        writer.append(itemClass)
        KeychainAttribute.write(attributes, to: &writer)
        // Clients and hosts of before this field read and write calls without it.
        if let access { KeychainProgram.write(access, to: &writer) }
        return writer.bytes
    }
}

/// An attribute of an item: `SecKeychainAttribute`.
package struct KeychainAttribute: Equatable {
    package var tag: UInt64
    /// Nil where the attribute is only named, or the item does not have it.
    package var value: [UInt8]?

    package init(_ tag: UInt64, _ value: [UInt8]?) {
        self.tag = tag
        self.value = value
    }

    fileprivate static let minimumByteCount = 8 + 1

    static func list(from reader: inout FieldReader) throws(WireError) -> [KeychainAttribute] {
        var attributes: [KeychainAttribute] = []
        for _ in 0..<(try reader.count(ofElementsWith: minimumByteCount)) {
            attributes.append(KeychainAttribute(try reader.number(), try reader.optionalByteString()))
        }
        return attributes
    }

    static func write(_ attributes: [KeychainAttribute], to writer: inout FieldWriter) {
        writer.append(count: attributes.count)
        for attribute in attributes {
            writer.append(attribute.tag)
            writer.append(ifAny: attribute.value)
        }
    }
}
