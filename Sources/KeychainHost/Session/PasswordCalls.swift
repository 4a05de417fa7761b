package import KeychainModel
internal import Glibc
package import SecureBytes

// The functions of SecKeychain.h, shared by the C library and SecItem.

// MARK: - Attributes by pointers

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

    /// - Throws: `errSecNoSuchClass` for what is no class of passwords.
    package static func passwords(_ code: UInt32) throws(KeychainError) -> ItemClass {
        guard let itemClass = allCases.first(where: { $0.isPassword && $0.fourCharCode == code }) else {
            throw KeychainError(.noSuchClass, "only passwords are items of these functions")
        }
        return itemClass
    }

    /// The attribute's value, in the type that items of the class have for it.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for data that are no value of it.
    @unsafe package func value(
        ofTag tag: UInt32, _ data: UnsafeRawPointer?, length: UInt32
    ) throws(KeychainError) -> AttributeValue {
        let name = Attribute(tag: tag)
        guard let definition = definition(of: name) else { throw KeychainError(.noSuchAttribute, key: name.rawValue) }
        guard unsafe data != nil || length == 0 else {
            throw KeychainError(.param, "there is a length but no data", key: name.rawValue)
        }
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: unsafe data == nil ? 0 : Int(length)))
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
    /// The data of an attribute, as a caller gets them; nil where the item has none.
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

// MARK: - Passwords

extension NewItem {
    /// A password of the class, `errSecNoSuchClass` for any other.
    package static func password(
        _ itemClass: ItemClass, _ attributes: Attributes, secret: consuming Secret?
    ) throws(KeychainError) -> NewItem {
        switch itemClass {
        case .genericPassword: try genericPassword(attributes, secret: secret)
        case .internetPassword: try internetPassword(attributes, secret: secret)
        default: throw KeychainError(.noSuchClass, "only passwords are items of these functions")
        }
    }
}

/// The files that a call looks into, and those that are missing.
package struct SearchedKeychains: Sendable {
    package let locals: [LocalKeychain]
    package let missing: [Missing]

    /// The keychains that were named.
    package init(_ locals: [LocalKeychain]) {
        (self.locals, missing) = (locals, [])
    }

    /// All of the search list.
    package init(_ process: ProcessKeychains) throws(KeychainError) {
        let present = try process.present(cards: false)
        (locals, missing) = (present.locals, present.missing)
    }

    /// Finds a password. An empty text counts as not given. An item that synchronizes is found only where no other
    /// matches. A keychain that fails or a damaged password hides no other.
    ///
    /// - Parameter take: gives out what was found; `errSecDecode` has the next one tried.
    /// - Returns: what could not be looked at, and may be a password that would have been given out.
    /// - Throws: `errSecItemNotFound`; what the first keychain failed with where all of them did.
    package func takePassword(
        _ itemClass: ItemClass, _ attributes: Attributes,
        _ take: (Item, LocalKeychain) throws(KeychainError) -> Void
    ) throws(KeychainError) -> [Missing] {
        var result = try items(itemClass, attributes)
        for item in result.found {
            guard let member = member(of: item) else { continue }
            do throws(KeychainError) {
                try take(item, member)
                return result.missing
            } catch {
                guard error.code == .decode else { throw error }
                result.add(missing: [member.missing(error)])
            }
        }
        throw result.damage ?? .notFound(ErrSec.itemNotFound.message, besides: result.missing)
    }

    /// The items that match, those that synchronize last.
    package func items(_ itemClass: ItemClass, _ attributes: Attributes) throws(KeychainError) -> Outcome<[Item]> {
        let given = attributes.filter { $0.value.bytes?.isEmpty != true }
        let query = try Query(itemClass, given.merging([.synchronizable: Query.anySynchronizable]) { $1 }, limit: .all)
        var result = try SearchList(locals: locals, missing: missing).items(matching: query)
        result.found = result.found.filter { !$0.synchronizes } + result.found.filter(\.synchronizes)
        return result
    }

    /// The keychain that an item was found in.
    package func member(of item: Item) -> LocalKeychain? {
        locals.first { $0.isIdentified(by: item.keychain) }
    }
}

extension Item {
    fileprivate var synchronizes: Bool { self[.synchronizable]?.isDefault == false }
}

extension LocalKeychain {
    /// Gives out a password, as long as it is; what its access control asks for is asked for.
    ///
    /// - Parameter data: gets memory that the caller gives back with ``CallerMemory/free(_:)``.
    @unsafe package func copyPassword(
        of item: Item, _ length: UnsafeMutablePointer<UInt32>?,
        _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, authentication: AuthenticationContext
    ) throws(KeychainError) {
        let read = try secret(of: item.reference, use: "read a password", authentication: authentication)
        let password = read ?? Secret(capacity: 0) { _ in }
        unsafe length?.pointee = UInt32(clamping: password.count)
        if unsafe data != nil { unsafe data?.pointee = try CallerMemory.copy(password.bytes) }
    }

    /// Changes the attributes that are given, and the password where there is one.
    ///
    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    package func change(
        _ reference: PersistentReference, _ attributes: Attributes, secret: consuming Secret?,
        authentication: AuthenticationContext
    ) throws(KeychainError) {
        try unlock(use: "change a password", authentication: authentication)
        guard
            try update(
                matching: Query(reference), to: ItemChanges(attributes, secret: secret), authentication: authentication)
                > 0
        else { throw KeychainError(.invalidItemReference) }
    }

    /// The item as it is now.
    ///
    /// - Throws: `errSecInvalidItemRef` once it is gone.
    package func presentItem(_ reference: PersistentReference) throws(KeychainError) -> Item {
        guard let item = try items(matching: Query(reference)).found.first else {
            throw KeychainError(.invalidItemReference, "the item has been deleted")
        }
        return item
    }
}
