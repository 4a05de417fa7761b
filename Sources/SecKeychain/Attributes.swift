internal import CSecKeychain
internal import Glibc
internal import KeychainHost

extension SecKeychainAttribute {
    var name: Attribute { unsafe Attribute(rawValue: String(decoding: tag.octets, as: UTF8.self)) }

    /// What an item of the class has for it.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for data that are no value of it.
    func value(in itemClass: ItemClass) throws(KeychainError) -> AttributeValue {
        let name = unsafe name
        guard let definition = itemClass.definition(of: name) else {
            throw KeychainError(.noSuchAttribute, key: name.rawValue)
        }
        guard unsafe data != nil || length == 0 else {
            throw KeychainError(.param, "there is a length but no data", key: name.rawValue)
        }
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: unsafe data == nil ? 0 : Int(length)))
        switch definition.type {
        case .number, .boolean:
            guard bytes.count == 4 else { throw KeychainError(.param, "a number has four bytes", key: name.rawValue) }
            return .number(Int64(unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: UInt32.self) }))
        case .data: return .data(bytes)
        case .string, .opaque: return AttributeValue(bytes)
        case .code:
            guard bytes.count == 4 else { throw KeychainError(.param, "a code has four bytes", key: name.rawValue) }
            return .fourCharacters(unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: FourCharCode.self) })
        case .date: throw KeychainError(.param, "dates are the keychain's own", key: name.rawValue)
        }
    }

    /// Takes over the value of an item, or none.
    mutating func fill(from item: Item) throws(KeychainError) {
        (unsafe length, unsafe data) = (0, nil)
        let name = unsafe name
        guard let value = item[name] else { return }
        var bytes: [UInt8]
        switch value {
        case .string(let text): bytes = Array(text.utf8)
        case .data(let octets): bytes = octets
        case .number(let number): bytes = UInt32(truncatingIfNeeded: number).nativeOctets
        case .bool(let flag): bytes = UInt32(flag ? 1 : 0).nativeOctets
        case .date(let seconds): bytes = text(ofDate: seconds)
        }
        if name.type == .code, bytes.count == 4 {
            bytes = bytes.reduce(0 as UInt32) { $0 << 8 | UInt32($1) }.nativeOctets
        }
        unsafe data = try CallerMemory.copy(bytes.span)
        unsafe length = UInt32(clamping: bytes.count)
    }

    mutating func clear() {
        unsafe CallerMemory.free(data)
        (unsafe length, unsafe data) = (0, nil)
    }
}

extension UInt32 {
    /// The bytes in the order of this machine.
    fileprivate var nativeOctets: [UInt8] { unsafe withUnsafeBytes(of: self) { unsafe [UInt8]($0) } }
}

extension ItemClass {
    /// The class's four characters as a number.
    var fourCharCode: SecItemClass { rawValue.utf8.reduce(0) { $0 << 8 | SecItemClass($1) } }
}

/// `YYYYMMDDhhmmssZ` and a zero, as `SecKeychainItem` has dates.
private func text(ofDate seconds: Int64) -> [UInt8] {
    var time = time_t(seconds)
    var fields = unsafe tm()
    unsafe gmtime_r(&time, &fields)
    var text = [UInt8](repeating: 0, count: 16)
    let count = unsafe text.withUnsafeMutableBytes { bytes in
        unsafe strftime(
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, "%Y%m%d%H%M%SZ", &fields)
    }
    return count > 0 ? text : []
}
