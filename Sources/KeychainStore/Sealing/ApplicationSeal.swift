package import KeychainModel
internal import Localization
package import SecureBytes
internal import SystemCrypto

/// A secret encrypted under an application's password, inside the keychain's own encryption: reading it takes both.
///
/// The form: a version, the costs of scrypt (8, 4 and 4 bytes), the salt, and AES-256-GCM over the secret.
package enum ApplicationSeal {
    private static let version: UInt8 = 1
    private static let saltLength = 32
    private static let headLength = 1 + 16 + saltLength

    package static func seal(
        _ secret: borrowing Secret, password: borrowing Secret, keychain: UniqueID, cost: ScryptCost
    ) throws(KeychainError) -> Secret {
        do throws(CryptoError) {
            let salt = try RandomBytes.make(count: saltLength)
            let key = try deriveKey(password, salt: salt, cost: cost)
            let costs = cost.n.bigEndianBytes + cost.r.bigEndianBytes + cost.p.bigEndianBytes
            let head = [version] + costs + salt
            var sealed = head + (try SealedBox.seal(secret.bytes, key: key, authenticating: data(keychain, head)))
            return Secret(consuming: &sealed)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Seals another secret in place of a sealed one, at the same cost.
    ///
    /// - Throws: as ``open(_:password:keychain:)``.
    package static func replace(
        _ sealed: borrowing Secret, by secret: borrowing Secret, password: borrowing Secret, keychain: UniqueID
    ) throws(KeychainError) -> Secret {
        _ = try open(sealed, password: password, keychain: keychain)
        return try seal(secret, password: password, keychain: keychain, cost: try head(of: sealed).cost)
    }

    /// - Throws: `errSecAuthFailed` for another password, `errSecDecode` for what ``seal(_:password:keychain:cost:)`` has
    ///   not made.
    package static func open(
        _ sealed: borrowing Secret, password: borrowing Secret, keychain: UniqueID
    ) throws(KeychainError) -> Secret {
        let (head, cost) = try head(of: sealed)
        do throws(CryptoError) {
            let key = try deriveKey(password, salt: Array(head.suffix(saltLength)), cost: cost)
            return try SealedBox.open(
                Array(copying: sealed.bytes.extracting(headLength...)), key: key, authenticating: data(keychain, head))
        } catch {
            guard error.code == .authenticationFailed else { throw KeychainError(error) }
            throw KeychainError(.authFailed, "the application password of the item is wrong")
        }
    }

    private static func head(of sealed: borrowing Secret) throws(KeychainError) -> (bytes: [UInt8], cost: ScryptCost) {
        let head = Array(Array(copying: sealed.bytes).prefix(headLength))
        guard head.count == headLength, head[0] == version else { throw damaged }
        let cost = ScryptCost(
            n: UInt64(bigEndianBytes: head[1..<9]), r: UInt32(bigEndianBytes: head[9..<13]),
            p: UInt32(bigEndianBytes: head[13..<17]))
        guard cost.isAcceptable else { throw damaged }
        return (head, cost)
    }

    private static func deriveKey(
        _ password: borrowing Secret, salt: [UInt8], cost: ScryptCost
    ) throws(CryptoError) -> Secret {
        try Scrypt.deriveKey(
            password: password, salt: salt, n: cost.n, r: cost.r, p: cost.p, count: WrappedKey.keyLength)
    }

    private static func data(_ keychain: UniqueID, _ head: [UInt8]) -> AssociatedData {
        var data = AssociatedData("keychain application password 1", keychain: keychain)
        data.append(head)
        return data
    }

    private static var damaged: KeychainError {
        KeychainError(.decode, "an item under an application password is damaged", remedy: "restore it from a backup")
    }
}
