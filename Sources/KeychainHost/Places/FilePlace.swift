internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization

/// A keychain in a file as the place of a token: its password is the PIN.
final class FilePlace: HostedPlace {
    private let path: String
    private let passwordCost: @Sendable () throws(KeychainError) -> ScryptCost
    private let state: Mutex<State>
    /// Serialises questions for the password. Only threads that would ask too wait here.
    private let questionGate = Mutex(())
    /// Serialises logins, since a password takes time to check.
    private let loggingIn = Mutex(())

    private struct State {
        var keychain: LocalKeychain
        /// The number of other files that were in the place before.
        var generation = 0
        var loginCount = 0
        /// The number of the last login, until that has ended.
        var login: Int?
    }

    /// - Parameter passwordCost: the cost of one guess at a password that is set now.
    init(_ keychain: LocalKeychain, passwordCost: @escaping @Sendable () throws(KeychainError) -> ScryptCost) {
        path = keychain.path
        self.passwordCost = passwordCost
        state = Mutex(State(keychain: keychain))
    }

    private var file: LocalKeychain { state.withLock { $0.keychain } }

    var keychain: any Keychain { file }

    /// Takes the keychain that is in the place now. Another file, such as a restored backup, is another token.
    func take(_ keychain: LocalKeychain) {
        state.withLock { state in
            guard state.keychain !== keychain else { return }
            (state.keychain, state.login) = (keychain, nil)
            state.generation += 1
        }
    }

    var place: TokenPlace {
        let keychain = file
        return TokenPlace(
            .file, at: path, name: keychain.name, slotName: keychain.cryptokiSlotName, occupancy: occupancy)
    }

    var occupancy: TokenPlace.Occupancy {
        let (keychain, generation) = state.withLock { ($0.keychain, $0.generation) }
        return TokenPlace.Occupancy(hasToken: keychain.isValid, changeCount: generation)
    }

    var generation: Int { state.withLock { $0.generation } }

    /// Whether another program may have unlocked the keychain.
    var hasKeptPIN: Bool {
        let keychain = file
        return keychain.isShared.load(ordering: .acquiring) && !keychain.isLocked
    }

    func describe(_ facts: TokenFacts) throws(KeychainError) -> TokenDescription {
        let (keychain, generation) = state.withLock { ($0.keychain, $0.generation) }
        var description = TokenDescription(generation: generation)
        if facts.contains(.login) { description.login = login }
        if facts.contains(.version) { description.version = keychain.version }
        guard !facts.isDisjoint(with: [.name, .pin]) else { return description }
        try requireFile()
        description.name = keychain.cryptokiName
        if facts.contains(.pin) {
            description.pin = TokenPIN(
                isReadOnly: keychain.isReadOnly, needsLogin: needsLogin(keychain), canAsk: false,
                lengths: FilePlace.passwordLengths)
        }
        return description
    }

    @discardableResult
    private func requireFile() throws(KeychainError) -> LocalKeychain {
        let keychain = file
        guard keychain.isValid else { throw .noToken }
        return keychain
    }

    func items(_ selection: TokenItemSelection) throws(KeychainError) -> Outcome<[Item]> {
        let keychain = try requireFile()
        // The names of a certificate depend on its key, and the other way round.
        var classes: [ItemClass] = selection.kinds.isEmpty ? [] : [.certificate, .key]
        if selection.data != .none { classes += [.genericPassword, .internetPassword] }
        var outcome = Outcome<[Item]>()
        for itemClass in classes {
            let query = try Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
            outcome.found += try keychain.items(matching: query).found
        }
        return outcome
    }

    func key(_ reference: PersistentReference, for request: KeyRequest?) throws(KeychainError) -> (any KeychainKey)? {
        let key = try requireFile().keys(.reference(reference)).first
        guard request?.isUnwrapping == true, var unwrapping = key as? LocalKeychainKey else { return key }
        unwrapping.isUnwrapping = true
        return unwrapping
    }

    func accessItem(_ key: PersistentReference) throws(KeychainError) -> AccessItem {
        let keychain = try requireFile()
        guard let item = try keychain.keys(.reference(key)).first?.item else { throw KeychainError(.itemNotFound) }
        try keychain.requireDecisions()
        return AccessItem(item, in: keychain)
    }

    func content(of data: PersistentReference) throws(KeychainError) -> SharedSecret? {
        throw KeychainError(.itemNotFound)
    }

    /// - Throws: `errSecItemNotFound`.
    func symmetricKey(_ reference: PersistentReference) throws(KeychainError) -> SymmetricKey {
        guard let key = try requireFile().symmetricKeys(.reference(reference)).first else {
            throw KeychainError(.itemNotFound)
        }
        return key
    }

    // MARK: Login

    /// Whether there is a password at all.
    private func needsLogin(_ keychain: LocalKeychain) -> Bool { (try? keychain.hasPassword) ?? true }

    var login: Int? { madeLogin ?? (needsLogin(file) ? nil : 0) }

    func noticeEndOfLogin() {}

    /// The number of the present login. It ends with the lock of the keychain: after a time without use, in the
    /// machine's sleep, or by another program.
    private var madeLogin: Int? {
        let (keychain, login) = state.withLock { ($0.keychain, $0.login) }
        guard let login else { return nil }
        guard keychain.isLocked else { return login }
        state.withLock { if $0.login == login { $0.login = nil } }
        return nil
    }

    /// The bytes that a new password may have. Longer ones that were set elsewhere are accepted at login.
    private static let passwordLengths = 0...255

    /// Unlocks the keychain. Threads that log in at the same time share one question, and no other call waits for
    /// it.
    func logIn(use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        let keychain = try requireFile()
        try requireNoLogin()
        if authentication.hasCredential(.password) {
            return try beginLogin { () throws(KeychainError) in
                guard let password = authentication.credential(.password) else { return }
                try keychain.unlock(password: password)
                authentication.noteGiven(for: keychain.accessPlace)
            }
        }
        if try beginLoginWithKeptPassword(authentication) { return }
        guard authentication.prompter.canAsk else { throw .nobodyToAsk }
        try questionGate.withLock { _ throws(KeychainError) in
            try requireNoLogin()
            if try beginLoginWithKeptPassword(authentication) { return }
            try keychain.confirmPresence(use: use, authentication: authentication)
            try beginLogin()
        }
    }

    /// Logs in to a keychain that another program has unlocked. What this one does there takes a person's permission.
    ///
    /// - Returns: false where nobody has.
    private func beginLoginWithKeptPassword(_ authentication: AuthenticationContext) throws(KeychainError) -> Bool {
        // Without a person to allow anything, the login would be worth nothing.
        guard hasKeptPIN, authentication.permission?.canAsk == true else { return false }
        try beginLogin()
        return true
    }

    private func requireNoLogin() throws(KeychainError) {
        guard madeLogin == nil else { throw .loggedIn }
    }

    private func beginLogin(
        _ unlock: () throws(KeychainError) -> Void = { () throws(KeychainError) in }
    ) throws(KeychainError) {
        let keychain = file
        try loggingIn.withLock { _ throws(KeychainError) in
            try requireNoLogin()
            try unlock()
            let isOpen = !needsLogin(keychain)
            state.withLock { state in
                state.loginCount += 1
                state.login = isOpen ? 0 : state.loginCount
            }
        }
    }

    func logInForOneUse(use: String, _ authentication: AuthenticationContext) throws(KeychainError) {
        throw KeychainError(.param, "no key of a keychain wants a login for each use", failure: .notPermitted)
    }

    func logOut() {
        loggingIn.withLock { _ in
            state.withLock { $0.login = nil }
            let keychain = file
            // Another program may use it.
            if !keychain.isShared.load(ordering: .acquiring) { keychain.lock() }
        }
    }

    func endWaits() {}

    func letGo() {
        if state.withLock({ $0.login }) != nil { logOut() }
    }

    /// C_SetPIN has no way to tell that an old row is left beside the file; 'tokenctl set-keychain-password' tells it.
    func changePIN(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError) {
        guard new.count <= FilePlace.passwordLengths.upperBound else {
            throw KeychainError(.param, "the new password is too long", failure: .pinFormat)
        }
        _ = try requireFile().changePassword(from: old, to: new, cost: passwordCost())
    }
}
