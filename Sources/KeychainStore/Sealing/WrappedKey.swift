package import KeychainModel
internal import Localization
package import SecureBytes
internal import SystemCrypto

/// The keychain's key as the file has it: wrapped under a key derived from the password.
package struct WrappedKey: Sendable, Hashable {
    /// Length of the keychain's key, and of the one derived from the password, in bytes.
    package static let keyLength = 32
    /// Length of the salt in bytes.
    static let saltLength = 32

    package let keychain: UniqueID
    /// Whether the password has any characters. This reveals nothing: one guess tells an empty password.
    package let hasPassword: Bool
    package let cost: ScryptCost
    let salt: [UInt8]
    /// The key, sealed under the one derived from the password.
    let wrapped: [UInt8]
    /// An empty text sealed under the key. It shows whether a given key is this keychain's, and whether all rows have
    /// seals of the current version; only a holder of the key can make it.
    let check: [UInt8]
    /// Whether the row it was read from is not as it was written.
    var isAltered = false
}

extension WrappedKey {
    /// Wraps `key` under `password`.
    ///
    /// - Throws: `errSecParam` for costs scrypt does not take.
    package init(
        wrapping key: borrowing Secret, of keychain: UniqueID, password: borrowing Secret, cost: ScryptCost
    ) throws(KeychainError) {
        guard cost.isAcceptable else { throw KeychainError(.param, "scrypt does not take these costs") }
        do {
            let salt = try RandomBytes.make(count: Self.saltLength)
            let wrapping = try Self.deriveKey(password, salt: salt, cost: cost)
            let data = Self.wrappingData(keychain, cost: cost, salt: salt)
            self.init(
                keychain: keychain, hasPassword: !password.isEmpty, cost: cost, salt: salt,
                wrapped: try SealedBox.seal(key.bytes, key: wrapping, authenticating: data),
                check: try Self.check(under: key, of: keychain))
        } catch {
            throw KeychainError(error)
        }
    }

    /// The keychain's key.
    ///
    /// - Parameter name: the name that people know the keychain by.
    /// - Throws: `errSecAuthFailed` for another password, `errSecInvalidKeychain` for costs no keychain is made with.
    package func unwrap(password: borrowing Secret, of name: String) throws(KeychainError) -> Secret {
        guard cost.isAcceptable else {
            throw KeychainError(
                .invalidKeychain, "the keychain file is damaged: its password would take too long to check",
                remedy: "restore it from a backup")
        }
        do {
            let wrapping = try Self.deriveKey(password, salt: salt, cost: cost)
            let data = Self.wrappingData(keychain, cost: cost, salt: salt)
            return try SealedBox.open(wrapped, key: wrapping, authenticating: data)
        } catch let error where error.code == .authenticationFailed {
            guard !isAltered else {
                throw KeychainError(
                    .invalidKeychain, "the keychain file is damaged: its key was altered",
                    remedy: "restore it from a backup, unless the password was mistyped")
            }
            throw KeychainError(.authFailed, "the password of '\(name)' is wrong")
        } catch {
            throw KeychainError(error)
        }
    }

    /// Whether `key` is the one that is wrapped here.
    package func isFor(_ key: borrowing Secret) -> Bool {
        opensCheck(key, Self.checkData(keychain)) || hasOldSeals(key)
    }

    /// Whether the keychain's rows may still have seals of the first version.
    func hasOldSeals(_ key: borrowing Secret) -> Bool { opensCheck(key, Self.oldCheckData(keychain)) }

    private func opensCheck(_ key: borrowing Secret, _ data: AssociatedData) -> Bool {
        (try? SealedBox.open(check, key: key, authenticating: data)) != nil
    }

    /// Makes the ``check`` that says that all rows have seals of the current version.
    static func check(
        under key: borrowing Secret, of keychain: UniqueID
    ) throws(CryptoError) -> [UInt8] {
        try SealedBox.seal([UInt8]().span, key: key, authenticating: checkData(keychain))
    }

    /// The row's defect, as far as it shows without the password; nil for none.
    package var damage: KeychainError? {
        guard isAltered else { return nil }
        return KeychainError(
            .invalidKeychain,
            "the keychain file is damaged: its id or its key was altered",
            remedy:
                "change its password, which writes the key anew if it still fits; if this is told afterwards, restore the keychain from a backup"
        )
    }

    private static func deriveKey(
        _ password: borrowing Secret, salt: [UInt8], cost: ScryptCost
    ) throws(CryptoError) -> Secret {
        try Scrypt.deriveKey(password: password, salt: salt, n: cost.n, r: cost.r, p: cost.p, count: keyLength)
    }

    private static func wrappingData(_ keychain: UniqueID, cost: ScryptCost, salt: [UInt8]) -> AssociatedData {
        var data = AssociatedData("keychain key 1", keychain: keychain)
        data.append(number: Int64(clamping: cost.n))
        data.append(number: Int64(cost.r))
        data.append(number: Int64(cost.p))
        data.append(salt)
        return data
    }

    private static func checkData(_ keychain: UniqueID) -> AssociatedData {
        AssociatedData("keychain key check 2", keychain: keychain)
    }

    private static func oldCheckData(_ keychain: UniqueID) -> AssociatedData {
        AssociatedData("keychain key check 1", keychain: keychain)
    }
}
