internal import Localization
internal import SecureBytes

/// The conditions for the use of an item's secret: Apple's `SecAccessControl`. Keychain semantics 3.2.
///
/// A person proves presence with the keychain's password or the PIN of a card that opens it; there are no biometrics
/// here. An application password is not a test but a second key, under which the secret is encrypted.
public struct AccessControl: Sendable, Hashable {
    /// The flags, by Apple's bits.
    public struct Flags: OptionSet, Sendable, Hashable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Biometrics or the passcode.
        public static let userPresence = Flags(rawValue: 1 << 0)
        public static let biometryAny = Flags(rawValue: 1 << 1)
        public static let biometryCurrentSet = Flags(rawValue: 1 << 3)
        /// The keychain's password, or the PIN of a card that opens it.
        public static let devicePasscode = Flags(rawValue: 1 << 4)
        public static let companion = Flags(rawValue: 1 << 5)
        /// One of the constraints is enough.
        public static let or = Flags(rawValue: 1 << 14)
        /// All constraints must be met.
        public static let and = Flags(rawValue: 1 << 15)
        /// The constraints guard a private key's operations.
        public static let privateKeyUsage = Flags(rawValue: 1 << 30)
        public static let applicationPassword = Flags(rawValue: 1 << 31)

        static let all: Flags = [
            .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion, .or, .and, .privateKeyUsage,
            .applicationPassword,
        ]
        static let passcode: Flags = [.userPresence, .devicePasscode]
        static let unavailable: Flags = [.biometryAny, .biometryCurrentSet, .companion]
    }

    /// When the secret can be read at all, as ``Attribute/accessible`` has it.
    public let protection: AttributeValue
    public let flags: Flags

    /// - Throws: `errSecParam` for an unknown protection, unknown flags, or flags that exclude each other;
    ///   `errSecUnimplemented` for constraints that only biometrics or another device could meet.
    public init(_ protection: AttributeValue, _ flags: Flags = []) throws(KeychainError) {
        guard let known = Accessibility.all.first(where: protection.matches) else {
            throw KeychainError(.param, "there is no such accessibility", key: Attribute.accessible.rawValue)
        }
        try AccessControl.check(flags)
        self.protection = known
        self.flags = flags
    }

    private static func check(_ flags: Flags) throws(KeychainError) {
        func refuse(_ reason: String) -> KeychainError {
            KeychainError(.param, "the access control cannot be used: \(reason)", key: Attribute.accessControl.rawValue)
        }
        guard flags.isSubset(of: .all) else { throw refuse("there are unknown flags") }
        guard !flags.isSuperset(of: [.or, .and]) else { throw refuse("the flags 'or' and 'and' exclude each other") }
        guard !flags.isSuperset(of: [.biometryAny, .biometryCurrentSet]) else {
            throw refuse("the flags for any biometrics and for those enrolled now exclude each other")
        }
        guard
            !flags.contains(.userPresence)
                || flags.isSubset(of: [.userPresence, .applicationPassword, .privateKeyUsage])
        else { throw refuse("user presence can be combined with an application password and private key usage alone") }
        // With `or` the passcode is enough; without `or` the unavailable constraints would have to be met as well.
        guard flags.isDisjoint(with: .unavailable) || flags.isSuperset(of: [.or, .devicePasscode]) else {
            throw KeychainError(
                .unimplemented, "the access control asks for biometrics, which this system does not have",
                remedy: "use the device passcode",
                key: Attribute.accessControl.rawValue)
        }
    }

    /// Whether a person must prove to be present each time the secret is used.
    public var wantsPasscode: Bool { !flags.isDisjoint(with: .passcode) }

    /// Whether the secret is encrypted under an application password as well.
    public var wantsApplicationPassword: Bool { flags.contains(.applicationPassword) }
}

// The stored form: a version, the flags in four bytes, the protection's letters.
extension AccessControl {
    private static let version: UInt8 = 1

    public func encoded() -> [UInt8] {
        [AccessControl.version] + flags.rawValue.bigEndianBytes + (protection.bytes ?? [])
    }

    /// - Throws: `errSecParam` for bytes that ``encoded()`` did not make.
    public init(parsing bytes: [UInt8]) throws(KeychainError) {
        guard (7...9).contains(bytes.count), bytes[0] == AccessControl.version,
            let letters = String(validating: bytes.dropFirst(5), as: UTF8.self)
        else {
            throw KeychainError(
                .param, "this is not an access control object", key: Attribute.accessControl.rawValue)
        }
        try self.init(.string(letters), Flags(rawValue: UInt32(bigEndianBytes: bytes[1...4])))
    }
}
