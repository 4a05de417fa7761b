internal import KeychainModel
internal import Foundation
internal import ItemDictionaries
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension ItemValue {
    /// The value of an Apple dictionary's value; `key` is the key that an error names.
    init(_ value: Any, for key: String) throws(KeychainError) {
        if let reference = try ItemReference(value) {
            self = .reference(reference)
            return
        }
        switch value {
        case let text as String: self = .string(text)
        case let data as Data: self = .data([UInt8](data))
        case let number as NSNumber: self = try ItemValue(number, for: key)
        case let date as Date:
            guard let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) else {
                throw KeychainError(.param, "the value of \(key) is not a date", key: key)
            }
            self = .date(seconds)
        case is NSNull: self = .null
        case let access as SecAccessControl: self = .data(try access.control.encoded())
        case let list as [Any]:
            var values: [ItemValue] = []
            for element in list { values.append(try ItemValue(element, for: key)) }
            self = .array(values)
        case let dictionary as [String: Any]: self = .dictionary(try ItemDictionary(foundation: dictionary))
        default: throw KeychainError(.param, "the value of \(key) is of a wrong kind", key: key)
        }
    }

    /// - Throws: `errSecParam` for a number that is not whole, or too large.
    private init(_ number: NSNumber, for key: String) throws(KeychainError) {
        let whole: Int64?
        switch unsafe String(cString: number.objCType) {
        case "c":
            // A Boolean is a number of its own type, on Linux as on Apple's platforms.
            self = .bool(number.boolValue)
            return
        case "d", "f": whole = Int64(exactly: number.doubleValue)
        case "Q": whole = Int64(exactly: number.uint64Value)
        default: whole = number.int64Value
        }
        guard let whole else { throw KeychainError(.param, "\(number) is not a number for \(key)", key: key) }
        self = .number(whole)
    }

    /// The value of a key as Apple's dictionaries have it.
    ///
    /// - Parameter context: what the keys in it are used with from now on.
    func object(for key: String, used context: LAContext? = nil) -> AnyObject {
        if key == kSecAttrAccessControl, case .data(let bytes) = self,
            let control = try? AccessControl(parsing: bytes)
        {
            return SecAccessControl(control)
        }
        return object(used: context)
    }

    /// The value as Apple's dictionaries have it.
    ///
    /// - Parameter context: what the keys in it are used with from now on.
    func object(used context: LAContext?) -> AnyObject {
        switch self {
        case .string(let text): NSString(string: text)
        case .data(let bytes): NSData(data: Data(bytes))
        case .number(let number): NSNumber(value: number)
        case .bool(let flag): NSNumber(value: flag)
        case .date(let seconds): NSDate(timeIntervalSince1970: TimeInterval(seconds))
        case .array(let values): NSArray(array: values.map { $0.object(used: context) })
        case .dictionary(let dictionary): dictionary.foundation(used: context)
        case .reference(let reference): reference.object(used: context)
        case .secret(let shared): NSData(data: Data(copying: shared.secret))
        case .null: NSNull()
        }
    }
}

extension [String: Any] {
    /// The entries of a dictionary that a program gave.
    ///
    /// - Throws: `errSecParam` where a key of the dictionary is not text.
    init(_ dictionary: CFDictionary) throws(KeychainError) {
        guard let entries = dictionary as? [String: Any] else {
            throw KeychainError(.param, "a key of the dictionary is not text")
        }
        self = entries
    }
}

extension ItemDictionary {
    init(foundation dictionary: CFDictionary) throws(KeychainError) {
        try self.init(foundation: [String: Any](dictionary))
    }

    init(foundation dictionary: [String: Any]) throws(KeychainError) {
        self.init()
        for (key, value) in dictionary {
            // Data that may be secret is copied into memory that is overwritten.
            if key == kSecValueData, let data = value as? Data {
                self[key] = .secret(SharedSecret(Secret(copying: data)))
            } else if key == kSecMatchSearchList, let list = value as? [Any] {
                self[key] = .array(try Self.members(of: list))
            } else {
                self[key] = try ItemValue(value, for: key)
            }
        }
    }

    /// The keychains of a search list. A keychain that cannot be opened is left out, as in the user's own search list.
    ///
    /// - Throws: the error of the first keychain, where none can be opened.
    private static func members(of list: [Any]) throws(KeychainError) -> [ItemValue] {
        var members: [ItemValue] = []
        var failure: KeychainError?
        for element in list {
            guard let keychain = element as? SecKeychain else {
                members.append(try ItemValue(element, for: kSecMatchSearchList))
                continue
            }
            do throws(KeychainError) {
                members.append(.reference(.keychain(try keychain.identifier)))
            } catch {
                failure = failure ?? error
            }
        }
        if let failure, members.isEmpty { throw failure }
        return members
    }

    fileprivate func foundation(used context: LAContext?) -> NSDictionary {
        NSDictionary(
            objects: map { $1.object(for: $0, used: context) }, forKeys: keys.map { NSString(string: $0) })
    }
}

extension ItemReference {
    /// The reference for an object of this interface; nil for any other value.
    init?(_ value: Any) throws(KeychainError) {
        switch value {
        case let certificate as SecCertificate:
            self = certificate.item.map { .item($0) } ?? .certificate(certificate.certificate)
        case let key as SecKey:
            switch key.material {
            case .publicKey(let key): self = .publicKey(key)
            case .privateKey(let key): self = .privateKey(key)
            case .symmetricKey(let key): self = .symmetricKey(key)
            case .item(let item): self = .item(item)
            }
        case let identity as SecIdentity:
            switch identity.halves {
            case .items(let identity): self = .identity(identity)
            case .imported(let certificate, let key): self = .keyPair(certificate, key)
            case .certified(let certificate, let key): self = .certified(certificate, key)
            }
        case let item as SecKeychainItem: self = .item(item.item)
        case let keychain as SecKeychain: self = .keychain(try keychain.identifier)
        case let policy as SecPolicy: self = .policy(policy.policy)
        default: return nil
        }
    }

    func object(used context: LAContext?) -> AnyObject {
        switch self {
        case .item(let item):
            switch item.itemClass {
            case .certificate: SecCertificate(item) ?? NSNull()
            case .key: SecKey(.item(item), context)
            default: SecKeychainItem(item)
            }
        case .identity(let identity): SecIdentity(.items(identity), context)
        case .certificate(let certificate): SecCertificate(certificate)
        case .publicKey(let key): SecKey(.publicKey(key))
        case .privateKey(let key): SecKey(.privateKey(key))
        case .keyPair(let certificate, let key): SecIdentity(.imported(certificate, key))
        case .certified(let certificate, let key): SecIdentity(.certified(certificate, key), context)
        case .symmetricKey, .keychain, .policy: NSNull()
        }
    }
}

extension Data {
    /// A copy of a secret for the caller, which is no longer overwritten.
    init(copying secret: borrowing Secret) {
        self.init(count: secret.count)
        let bytes = secret.bytes
        for (index, position) in zip(bytes.indices, indices) { self[position] = bytes[index] }
    }
}

extension Secret {
    /// A secret of the caller's bytes, without another copy of them.
    init(copying data: Data) {
        self.init(capacity: data.count) { output in for byte in data { output.append(byte) } }
    }
}
