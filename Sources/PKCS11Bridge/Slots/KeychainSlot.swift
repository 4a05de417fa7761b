internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import PKCS11Mechanisms
internal import CCryptoki
internal import KeychainHost
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto
internal import TokenKit

/// A keychain in a file as a token: its password is the PIN.
final class KeychainSlot: Slot {
    let id: CK_SLOT_ID

    let keychain: LocalKeychain
    let sessionGate = Gate()
    /// Serialises questions for the password. Only threads that would ask too wait here.
    private let questionGate = Gate()

    private let promptPolicy: PromptPolicy
    let knownGeneration: Int
    private let logins = Mutex(Logins())
    /// Serialises logins, since a password takes time to check.
    private let loggingIn = Mutex(())

    private struct Logins {
        var count = 0
        /// The number of the last one, until it has ended.
        var current: Int?
    }

    /// - Parameter predecessor: the slot of the file that was in the same place before.
    init(
        _ id: CK_SLOT_ID, _ keychain: LocalKeychain, _ promptPolicy: PromptPolicy,
        after predecessor: KeychainSlot? = nil
    ) {
        self.id = id
        self.keychain = keychain
        self.promptPolicy = promptPolicy
        knownGeneration = predecessor.map { $0.knownGeneration + 1 } ?? 0
    }

    var name: String { keychain.path }

    var info: SlotInfo {
        // Programs for cards ignore slots without CKF_REMOVABLE_DEVICE.
        SlotInfo(
            keychain.cryptokiSlotName,
            flags: CKF_REMOVABLE_DEVICE | (hasToken ? CKF_TOKEN_PRESENT : 0))
    }

    var occupancy: ReaderOccupancy { ReaderOccupancy(hasCard: keychain.isValid, changeCount: knownGeneration) }

    var mechanisms: [Mechanism] { MechanismTable.mechanismsOfKeychains }
    var possibleMechanisms: [Mechanism] { MechanismTable.mechanismsOfKeychains }

    func generation() throws(CryptokiError) -> Int {
        try requireToken()
        return knownGeneration
    }

    func tokenInfo() throws(CryptokiError) -> TokenInfo {
        try requireToken()
        var flags = CKF_RNG | CKF_USER_PIN_INITIALIZED | CKF_TOKEN_INITIALIZED
        if keychain.isReadOnly { flags |= CKF_WRITE_PROTECTED }
        if needsLogin, !promptPolicy.asksItself {
            flags |= CKF_LOGIN_REQUIRED | (promptPolicy.hasProtectedPath ? CKF_PROTECTED_AUTHENTICATION_PATH : 0)
        }
        return TokenInfo(
            name: keychain.cryptokiName, flags: flags, pinLengths: KeychainSlot.pinLengths, firmware: (0, 0))
    }

    // MARK: Objects

    func objects(matching template: Template) throws(CryptokiError) -> [CryptokiObject] {
        let sees = isLoggedIn
        return try all(allowedBy: template).filter { (sees || !$0.isPrivate) && $0.matches(template) }
    }

    func object(_ name: ObjectName) throws(CryptokiError) -> CryptokiObject? {
        guard case .item(let objectClass, _, _) = name else { return name == .profile ? .profile : nil }
        let template = Template([(CKA_CLASS, Encoded.ulong(objectClass))])
        let sees = isLoggedIn
        return try all(allowedBy: template).first { $0.name == name && (sees || !$0.isPrivate) }
    }

    var version: Int64? { keychain.version }

    /// Checks for a session that its keychain is still there.
    private func requireFile() throws(CryptokiError) {
        try CryptokiError.removed { () throws(CryptokiError) in try requireToken() }
    }

    private func all(allowedBy template: Template) throws(CryptokiError) -> [CryptokiObject] {
        try requireFile()
        let hidesLogin = promptPolicy.asksItself
        return try CryptokiError.mapping { () throws(KeychainError) in
            var items: [Item] = []
            let hasKeys = [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY].contains(where: template.allows)
            // The `CKA_ID` of a certificate depends on its key, and the other way round.
            if hasKeys || template.allows(CKO_CERTIFICATE) { items += try self.items(.certificate) + self.items(.key) }
            if template.allows(CKO_DATA) {
                items += try self.items(.genericPassword) + self.items(.internetPassword)
            }
            let objects = ItemObjects(items, hidesLogin: hidesLogin).objects(allowedBy: template)
            return template.allows(CKO_PROFILE) ? [.profile] + objects : objects
        }
    }

    private func items(_ itemClass: ItemClass) throws(KeychainError) -> [Item] {
        try keychain.items(
            matching: Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        ).found
    }

    // MARK: Login

    /// Whether there is a password at all.
    private var needsLogin: Bool { (try? keychain.hasPassword) ?? true }

    var login: Int? { madeLogin ?? (isOpen ? 0 : nil) }

    /// Whether all objects are visible without a login.
    private var isOpen: Bool { promptPolicy.asksItself || !needsLogin }

    /// The number of the present login. It ends with the lock of the keychain: after a time without use, in the
    /// machine's sleep, or by another program.
    private var madeLogin: Int? {
        guard let number = logins.withLock({ $0.current }) else { return nil }
        guard keychain.isLocked else { return number }
        logins.withLock { if $0.current == number { $0.current = nil } }
        return nil
    }

    /// The bytes that a new password may have. Longer ones that were set elsewhere are accepted at login.
    private static let pinLengths = 0...255

    func logIn(_ pin: consuming Secret?) throws(CryptokiError) {
        try requireFile()
        try requireNoLogin()
        guard let password = pin.take() else { return try logInAsking() }
        try loggingIn.withLock { _ throws(CryptokiError) in
            try requireNoLogin()
            try CryptokiError.mapping { () throws(KeychainError) in try keychain.unlock(password: password) }
            beginLogin()
        }
    }

    /// Logs in by asking a person. Threads that log in at the same time share one question, and no other call waits for it.
    private func logInAsking() throws(CryptokiError) {
        guard promptPolicy.hasProtectedPath else { throw CryptokiError(CKR_ARGUMENTS_BAD, "no PIN, and nobody to ask") }
        try questionGate.withLock { () throws(CryptokiError) in
            try requireNoLogin()
            try CryptokiError.mapping { () throws(KeychainError) in
                try keychain.confirmPresence(
                    use: promptPolicy.use("log in"),
                    authentication: AuthenticationContext(prompter: promptPolicy.prompter))
            }
            try loggingIn.withLock { _ throws(CryptokiError) in
                try requireNoLogin()
                beginLogin()
            }
        }
    }

    private func requireNoLogin() throws(CryptokiError) {
        guard madeLogin == nil else { throw CryptokiError(CKR_USER_ALREADY_LOGGED_IN) }
    }

    private func beginLogin() {
        // With the key from the user's login session, a lock applies to all programs of the session at once.
        _ = try? keychain.unlockFromSession()
        let isOpen = isOpen
        logins.withLock { logins in
            logins.count += 1
            logins.current = isOpen ? 0 : logins.count
        }
    }

    func logInForOneUse(_ pin: consuming Secret?) throws(CryptokiError) -> Secret? {
        // No key here needs a login for each use.
        throw CryptokiError(CKR_OPERATION_NOT_INITIALIZED, "no key of a keychain wants a login for each use")
    }

    func logOut() {
        loggingIn.withLock { _ in
            logins.withLock { $0.current = nil }
            keychain.lock()
        }
    }

    func letGo() {
        if logins.withLock({ $0.current }) != nil { logOut() }
    }

    func setPIN(from old: consuming Secret?, to new: consuming Secret?) throws(CryptokiError) {
        guard let old = old.take(), let new = new.take() else { throw CryptokiError(CKR_ARGUMENTS_BAD) }
        guard new.count <= KeychainSlot.pinLengths.upperBound else { throw CryptokiError(CKR_PIN_LEN_RANGE) }
        // PKCS#11 has no way to tell that an old row is left beside the file; 'tokenctl set-keychain-password' does.
        _ = try CryptokiError.mapping { () throws(KeychainError) in try keychain.changePassword(from: old, to: new) }
    }

    // MARK: Keys

    func perform(
        _ use: KeyUse, with key: CryptokiObject, of generation: Int, pin: borrowing Secret?
    ) throws(CryptokiError) -> Secret {
        try requireFile()
        guard case .item(_, let reference, _) = key.name, let action = TokenOperation.Action(use.step, use.input) else {
            throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
        return try CryptokiError.mappingUse { () throws(KeychainError) in
            guard let key = try keychain.keys(.reference(reference)).first else { throw KeychainError(.itemNotFound) }
            return try key.perform(action, use: promptPolicy.use(use.verb), authentication: authentication)
        }
    }

    func keyBytes(of key: CryptokiObject) throws(CryptokiError) -> Secret {
        try requireFile()
        guard case .item(_, let reference, _) = key.name else { throw CryptokiError(CKR_KEY_HANDLE_INVALID) }
        return try CryptokiError.mappingUse { () throws(KeychainError) in
            guard let key = try keychain.symmetricKeys(.reference(reference)).first else {
                throw KeychainError(.itemNotFound)
            }
            return try key.material(use: promptPolicy.use("use the key"), authentication: authentication)
        }
    }

    private var authentication: AuthenticationContext {
        AuthenticationContext(prompter: promptPolicy.asksItself ? promptPolicy.prompter : NoPrompter())
    }

    // MARK: Writing

    func create(_ template: Template) throws(CryptokiError) -> ObjectName {
        let item = try NewObject.item(from: template)
        return .item(template.objectClass ?? CKO_DATA, try add(item).reference)
    }

    func create(_ key: PrivateKey, _ template: Template) throws(CryptokiError) -> ObjectName {
        let item = try NewObject.item(of: key, template)
        return .item(CKO_PRIVATE_KEY, try add(item).reference)
    }

    func create(_ key: consuming Secret, _ template: Template, isGenerated: Bool) throws(CryptokiError) -> ObjectName {
        let item = try NewObject.item(ofSecretKey: key, template, isGenerated: isGenerated)
        return .item(CKO_SECRET_KEY, try add(item).reference)
    }

    /// - Throws: `CKR_ATTRIBUTE_VALUE_INVALID` for an item that exists already. A key exists whatever its new id, since all
    ///   objects of one key share one id.
    private func add(_ item: NewItem) throws(CryptokiError) -> Item {
        var same = item.attributes.filter { [.applicationLabel, .keyClass].contains($0.key) }
        same[.synchronizable] = Query.anySynchronizable
        let (isKey, ofKey) = (item.itemClass == .key, same)
        return try CryptokiError.mapping { () throws(KeychainError) in
            if isKey, try !keychain.items(matching: Query(.key, ofKey)).found.isEmpty {
                throw KeychainError(.duplicateItem, "the key is in the keychain already")
            }
            return try keychain.add(item)
        }
    }

    func destroy(_ object: ObjectName) throws(CryptokiError) {
        guard case .item(_, let reference, _) = object else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        let count = try CryptokiError.mapping { () throws(KeychainError) in
            try keychain.delete(matching: Query(reference))
        }
        guard count > 0 else { throw CryptokiError(CKR_OBJECT_HANDLE_INVALID) }
    }

    func change(_ object: ObjectName, to template: Template) throws(CryptokiError) {
        guard case .item(let objectClass, let reference, _) = object else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        let hasID = [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY].contains(objectClass)
        // NSS sets the subject of keys to that of the next certificate. It is accepted and ignored, since the certificate
        // determines it here.
        let isKey = [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].contains(objectClass)
        guard
            template.types.allSatisfy({ type in
                type == CKA_LABEL || type == CKA_ID && hasID || type == CKA_SUBJECT && isKey
            })
        else {
            throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "only labels and ids change")
        }
        if let id = template[CKA_ID] { try changeID(of: object, to: id) }
        guard let label = try template.text(CKA_LABEL) else { return }
        _ = try CryptokiError.mapping { () throws(KeychainError) in
            try keychain.update(matching: Query(reference), to: ItemChanges([.label: .string(label)]))
        }
    }

    /// Changes the id of all objects with the object's public key, or of a secret key.
    private func changeID(of object: ObjectName, to id: [UInt8]) throws(CryptokiError) {
        guard let found = try self.object(object) else { throw CryptokiError(CKR_OBJECT_HANDLE_INVALID) }
        guard found.attributes[CKA_ID] != id else { return }
        if case .item(CKO_SECRET_KEY, let reference, _) = object {
            guard !id.isEmpty else { throw Template.invalid(CKA_ID) }
            _ = try CryptokiError.mapping { () throws(KeychainError) in
                try keychain.update(matching: Query(reference), to: ItemChanges([.applicationTag: .data(id)]))
            }
            return
        }
        guard let hash = found.publicKeyHash, !id.isEmpty else { throw Template.invalid(CKA_ID) }
        let name = AttributeValue.data(id == hash ? [] : id)
        let places: [(ItemClass, Attribute, Attribute)] = [
            (.key, .applicationLabel, .applicationTag), (.certificate, .publicKeyHash, .alias),
        ]
        for (itemClass, hashOfKey, nameOfItem) in places {
            let ofKey: Attributes = [hashOfKey: .data(hash), .synchronizable: Query.anySynchronizable]
            _ = try CryptokiError.mapping { () throws(KeychainError) in
                try keychain.update(
                    matching: Query(itemClass, ofKey, limit: .all), to: ItemChanges([nameOfItem: name]))
            }
        }
    }

    func generateKeyPair(
        _ kind: KeyKind, publicTemplate: Template, privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: ObjectName, privateKey: ObjectName) {
        let (own, other) = (try privateTemplate.text(CKA_LABEL), try publicTemplate.text(CKA_LABEL))
        var attributes: Attributes = (own ?? other).map { [.label: .string($0)] } ?? [:]
        let ids = Set([privateTemplate, publicTemplate].compactMap { $0[CKA_ID] }.filter { !$0.isEmpty })
        guard ids.count < 2 else { throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a pair of keys has one id") }
        if let id = ids.first { attributes[.applicationTag] = .data(id) }
        let protection = try NewObject.protection(privateTemplate, kind)
        let uses = try NewObject.publicUses(publicTemplate)
        let pair = try CryptokiError.mapping { () throws(KeychainError) in
            try keychain.generateKeyPair(
                kind, attributes, privateAttributes: protection, publicAttributes: uses)
        }
        return (.item(CKO_PUBLIC_KEY, pair.publicKey.reference), .item(CKO_PRIVATE_KEY, pair.privateKey.reference))
    }

    func secretValue(_ type: CK_ATTRIBUTE_TYPE, of object: ObjectName) throws(CryptokiError) -> Secret {
        guard case .item(let objectClass, let reference, _) = object else {
            throw CryptokiError(CKR_ATTRIBUTE_SENSITIVE)
        }
        if objectClass == CKO_PRIVATE_KEY {
            let key = try CryptokiError.mapping { () throws(KeychainError) in
                try keychain.exportKey(reference, encrypted: false, authentication: authentication)
            }
            return try PrivateNumbers.value(type, of: key)
        }
        let secret = try CryptokiError.mapping { () throws(KeychainError) in try keychain.secret(of: reference) }
        guard let secret = consume secret else { return Secret(capacity: 0) { _ in } }
        return secret
    }
}
