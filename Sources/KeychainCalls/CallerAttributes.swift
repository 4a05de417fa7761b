package import KeychainModel
internal import Glibc
internal import Localization
internal import SecureBytes

// Attributes in the form of SecKeychain.h: pointers with tags and lengths.

extension Attributes {
    /// The attributes of a program's password that a caller gave.
    @unsafe package static func generic(
        _ service: UnsafePointer<CChar>?, _ serviceLength: UInt32, _ account: UnsafePointer<CChar>?,
        _ accountLength: UInt32
    ) throws(KeychainError) -> Attributes {
        var attributes: Attributes = [:]
        attributes[.service] = try unsafe AttributeValue.callers(service, length: serviceLength, of: .service)
        attributes[.account] = try unsafe AttributeValue.callers(account, length: accountLength, of: .account)
        return attributes
    }

    /// The attributes of a server's password that a caller gave; 0 stands for any number.
    @unsafe package static func internet(
        _ server: UnsafePointer<CChar>?, _ serverLength: UInt32, _ domain: UnsafePointer<CChar>?,
        _ domainLength: UInt32, _ account: UnsafePointer<CChar>?, _ accountLength: UInt32,
        _ path: UnsafePointer<CChar>?, _ pathLength: UInt32, _ port: UInt16, _ protocol: UInt32,
        _ authenticationType: UInt32
    ) throws(KeychainError) -> Attributes {
        var attributes: Attributes = [:]
        attributes[.server] = try unsafe AttributeValue.callers(server, length: serverLength, of: .server)
        attributes[.securityDomain] = try unsafe AttributeValue.callers(
            domain, length: domainLength, of: .securityDomain)
        attributes[.account] = try unsafe AttributeValue.callers(account, length: accountLength, of: .account)
        attributes[.path] = try unsafe AttributeValue.callers(path, length: pathLength, of: .path)
        if port != 0 { attributes[.port] = .number(Int64(port)) }
        if `protocol` != 0 { attributes[.protocol] = .fourCharacters(`protocol`) }
        if authenticationType != 0 { attributes[.authenticationType] = .fourCharacters(authenticationType) }
        return attributes
    }
}

extension AttributeValue {
    package static func fourCharacters(_ code: UInt32) -> AttributeValue { AttributeValue(code.bigEndianBytes) }
}

extension Attribute {
    /// The attribute of a tag, which is its name as a number.
    package init(tag: UInt32) { self.init(rawValue: String(decoding: tag.bigEndianBytes, as: UTF8.self)) }
}

extension ItemClass {
    /// The class's four characters as a number.
    package var fourCharCode: UInt32 { UInt32(bigEndianBytes: rawValue.utf8) }

    /// The class of passwords that a code means.
    ///
    /// - Throws: `errSecNoSuchClass` for any other code.
    package static func passwords(_ code: UInt32) throws(KeychainError) -> ItemClass {
        guard let itemClass = allCases.first(where: { $0.isPassword && $0.fourCharCode == code }) else {
            throw KeychainError(.noSuchClass, "only passwords are items of these functions")
        }
        return itemClass
    }

    /// The attribute's value, in the type that items of the class have for it.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for data that are not a value of the attribute.
    @unsafe package func value(
        ofTag tag: UInt32, _ data: UnsafeRawPointer?, length: UInt32
    ) throws(KeychainError) -> AttributeValue {
        let name = Attribute(tag: tag)
        guard definition(of: name) != nil else { throw KeychainError(.noSuchAttribute, key: name.rawValue) }
        guard unsafe data != nil || length == 0 else {
            throw KeychainError(.param, "there is a length but no data", key: name.rawValue)
        }
        let count = unsafe data == nil ? 0 : Int(length)
        return try value(ofTag: tag, unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: count)))
    }

    /// The attribute's value for its bytes, in the type that items of the class have for it.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for bytes that are not a value of the attribute.
    package func value(ofTag tag: UInt32, _ bytes: [UInt8]) throws(KeychainError) -> AttributeValue {
        let name = Attribute(tag: tag)
        guard let definition = definition(of: name) else { throw KeychainError(.noSuchAttribute, key: name.rawValue) }
        switch definition.type {
        case .number, .boolean:
            guard let number = UInt32(nativeBytes: bytes) else {
                throw KeychainError(.param, "a number needs four bytes", key: name.rawValue)
            }
            return .number(Int64(number))
        case .data: return .data(bytes)
        case .string, .opaque: return AttributeValue(bytes)
        case .code:
            guard let code = UInt32(nativeBytes: bytes) else {
                throw KeychainError(.param, "a code needs four bytes", key: name.rawValue)
            }
            return .fourCharacters(code)
        case .date: throw KeychainError(.param, "dates are set by the keychain", key: name.rawValue)
        }
    }
}

extension Item {
    /// The data of an attribute in the form for callers; nil where the item does not have the attribute.
    package func data(of name: Attribute) -> [UInt8]? {
        guard let value = self[name] else { return nil }
        let bytes: [UInt8] =
            switch value {
            case .string(let text): Array(text.utf8)
            case .data(let octets): octets
            case .number(let number): UInt32(truncatingIfNeeded: number).nativeBytes
            case .bool(let flag): UInt32(flag ? 1 : 0).nativeBytes
            case .date(let seconds): text(ofDate: seconds)
            }
        guard name.type == .code, bytes.count == 4 else { return bytes }
        return UInt32(bigEndianBytes: bytes).nativeBytes
    }
}

/// A date as `YYYYMMDDhhmmssZ` and a zero byte, as `SecKeychainItem` has it.
private func text(ofDate seconds: Int64) -> [UInt8] {
    var time = time_t(seconds)
    var fields = unsafe tm()
    unsafe gmtime_r(&time, &fields)
    var text = [CChar](repeating: 0, count: 16)
    let count = unsafe strftime(&text, text.count, "%Y%m%d%H%M%SZ", &fields)
    return count > 0 ? text.map { UInt8(bitPattern: $0) } : []
}
