package import CCryptoki
package import CryptokiNames
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// The description of a slot. PKCS #11 §3.2, `CK_SLOT_INFO`.
package struct SlotInfo: Sendable {
    package let name: CryptokiSlotName
    package let flags: CK_FLAGS

    init(_ name: CryptokiSlotName, flags: CK_FLAGS) {
        self.name = name
        self.flags = flags
    }
}

/// The description of a token. PKCS #11 §3.2, `CK_TOKEN_INFO`.
package struct TokenInfo: Sendable {
    package let name: CryptokiTokenName
    package let flags: CK_FLAGS
    package let pinLengths: ClosedRange<Int>
    /// The token's own version, major and minor.
    package let firmware: (major: UInt8, minor: UInt8)

    func without(_ flag: CK_FLAGS) -> TokenInfo {
        TokenInfo(name: name, flags: flags & ~flag, pinLengths: pinLengths, firmware: firmware)
    }
}

/// A place for a token: a reader, or a keychain in a file, whose token is always present.
///
/// Calls for one slot may wait for its card. Calls for other slots do not wait with them.
protocol Slot: AnyObject, Sendable {
    var id: CK_SLOT_ID { get }

    /// The name, which never changes.
    var name: String { get }

    var info: SlotInfo { get }

    /// Whether the slot has a token, and a count of changes that shows an exchange. Asks no card.
    var occupancy: ReaderOccupancy { get }

    /// Changes only when a different token is inserted.
    ///
    /// - Throws: `CKR_TOKEN_NOT_PRESENT`, `CKR_TOKEN_NOT_RECOGNIZED`.
    func generation() throws(CryptokiError) -> Int

    /// The generation at the last look. Does not wait.
    var knownGeneration: Int { get }

    func tokenInfo() throws(CryptokiError) -> TokenInfo

    var mechanisms: [Mechanism] { get }

    /// The mechanisms that a token of its kind may have. Asks no card.
    var possibleMechanisms: [Mechanism] { get }

    /// The token's objects that match the template; private ones only while the user is logged in.
    func objects(matching template: Template) throws(CryptokiError) -> [CryptokiObject]

    /// An object by its name; nil once it is gone.
    func object(_ name: ObjectName) throws(CryptokiError) -> CryptokiObject?

    /// A number that changes when another program changes the token's objects; nil for a token without such a number.
    var version: Int64? { get }

    // MARK: Login

    /// The gate at which opening a session waits for a logout that the end of the last session has caused.
    var sessionGate: Gate { get }

    /// The number of the present login, unique to it; nil for none. Does not wait for a card.
    var login: Int? { get }

    /// Checks whether the login is over, where only a check shows it. Does not wait for a card.
    func noticeEndOfLogin()

    /// - Parameter pin: nil where the token is to ask for it.
    func logIn(_ pin: consuming Secret?) throws(CryptokiError)

    /// Logs in for one use of a key that needs a login each time.
    func logInForOneUse(_ pin: consuming Secret?) throws(CryptokiError) -> Secret?

    func logOut()

    /// Ends waits for the token, which could delay its end.
    func endWaits()

    /// Logs out, and drops all known facts about the token.
    func letGo()

    func setPIN(from old: consuming Secret?, to new: consuming Secret?) throws(CryptokiError)

    // MARK: Keys

    /// Uses a private key of a session's token. Another token in the slot would have another key.
    ///
    /// - Parameters:
    ///   - generation: the generation of the session's token.
    ///   - pin: the PIN that was given for this one use.
    /// - Throws: `CKR_DEVICE_REMOVED` where that token is out.
    func perform(
        _ use: KeyUse, with key: CryptokiObject, of generation: Int, pin: borrowing Secret?
    ) throws(CryptokiError) -> Secret

    /// The bytes of a secret key of the token, for its use, even where they must not be revealed.
    func keyBytes(of key: CryptokiObject) throws(CryptokiError) -> Secret

    // MARK: Writing

    func create(_ template: Template) throws(CryptokiError) -> ObjectName
    /// Keeps a private key that a session has.
    func create(_ key: PrivateKey, _ template: Template) throws(CryptokiError) -> ObjectName
    /// Keeps a secret key.
    func create(_ key: consuming Secret, _ template: Template, isGenerated: Bool) throws(CryptokiError) -> ObjectName
    func destroy(_ object: ObjectName) throws(CryptokiError)
    func change(_ object: ObjectName, to template: Template) throws(CryptokiError)
    func generateKeyPair(
        _ kind: KeyKind, publicTemplate: Template, privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: ObjectName, privateKey: ObjectName)

    /// The value of a secret attribute, which no list of attributes holds.
    func secretValue(_ type: CK_ATTRIBUTE_TYPE, of object: ObjectName) throws(CryptokiError) -> Secret
}

/// Lets one thread through at a time.
final class Gate: Sendable {
    private let mutex = Mutex(())

    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { _ throws(Failure) in try body() }
    }
}

extension Slot {
    var hasToken: Bool { occupancy.hasCard }

    var isLoggedIn: Bool { login != nil }

    var version: Int64? { nil }

    func noticeEndOfLogin() {}

    func endWaits() {}

    /// Checks a mechanism, before the key is checked.
    ///
    /// - Throws: `CKR_MECHANISM_INVALID`.
    func require(_ mechanism: CK_MECHANISM_TYPE, for use: CK_FLAGS) throws(CryptokiError) {
        guard possibleMechanisms.contains(where: { $0.type == mechanism && $0.flags & use != 0 }) else {
            throw MechanismRequest.unknown
        }
    }

    func requireToken() throws(CryptokiError) {
        guard hasToken else { throw CryptokiError(CKR_TOKEN_NOT_PRESENT) }
    }
}
