internal import Localization
internal import Platform
internal import KeychainStore
internal import LoginSessions
public import KeychainModel
internal import Glibc
public import SecureBytes
internal import Synchronization

/// A keychain in one file: certificates, keys and passwords, the secrets encrypted under a password.
///
/// Attributes, certificates and public keys are in clear, so that everything but secrets can be searched and read while
/// the keychain is locked. An item is sealed together with all its attributes. Once any of them was changed by other
/// means, its secret does not open, and its public part is not used while the keychain is unlocked.
/// ``vouching(for:with:)`` answers `unknown` while it is locked, and `unsealed` for items that were added then. The
/// presence of an item is not protected.
///
/// Several processes may use one file, and several threads one value. A process must not fork while it uses a value.
///
///     let keychain = try LocalKeychain.create(at: "keychains/login.keychain", password: password)
///     let item = try keychain.add(.genericPassword([.account: "anna", .service: "mail"], secret: secret))
///     let found = try keychain.items(matching: Query(.genericPassword, [.service: "mail"], limit: .all)).found
public final class LocalKeychain: Sendable {
    /// The file, without symbolic links.
    public let path: String
    /// The identifier that the items of this keychain carry.
    let identifier: KeychainIdentifier
    /// Whether the file can only be read.
    public let isReadOnly: Bool

    /// The name of this open file. Whoever can write files can make one with the identifier of another keychain.
    private let fileName: String

    let state: KeychainState
    /// Forgets the key when its time is over.
    let timer = LockTimer()
    /// Whether several programs use this value, so that one of them that logs out does not lock it.
    let isShared = Atomic(false)

    /// The number of files that this process has opened.
    private static let count = Atomic<UInt64>(0)

    private init(_ opened: consuming sending KeychainConnection) throws(KeychainError) {
        path = opened.file.path
        identifier = opened.identifier
        fileName = "\(opened.identifier.rawValue) \(LocalKeychain.count.wrappingAdd(1, ordering: .relaxed).newValue)"
        isReadOnly = try opened.isReadOnly
        state = KeychainState(opened, isReadOnly: isReadOnly)
    }

    /// The name of what a key opens here, in decisions about programs. Whoever can write to the file can put a key of his own into it,
    /// under a password of his own: to have given that is nothing.
    func accessPlace(of key: borrowing Secret) -> String { "\(fileName) \(KeychainConnection.name(of: key))" }

    /// The name of what is unlocked here, in decisions about programs.
    var accessPlace: String { "\(fileName) \(state.withLock { $0.keyName } ?? "")" }

    // Ends the timer, so that the release of the last reference closes the file: the timer's thread might do so too
    // late, after the end of the process.
    deinit {
        timer.end()
    }

    /// Creates a keychain and opens it unlocked.
    ///
    /// Folders that are missing are made for the owner alone. A crash leaves either the whole keychain or none.
    ///
    /// - Parameter cost: the cost of one guess at the password.
    /// - Throws: `errSecDuplicateKeychain` if anything is at `path`.
    public static func create(
        at path: String, password: borrowing Secret, cost: ScryptCost = .standard
    ) throws(KeychainError) -> LocalKeychain {
        let file = try KeychainFile(new: path)
        let key = try KeychainConnection.create(file, password: password, cost: cost)
        let keychain = try open(file.path)
        try keychain.take(key)
        return keychain
    }

    /// Opens a keychain, locked.
    ///
    /// A file whose owner may not write to it is opened for reading. Where the disk is full the keychain can be read.
    ///
    /// - Throws: `errSecNoSuchKeychain`, `errSecInvalidKeychain` for any other file, `errSecWrongSecVersion` for one of a
    ///   newer program, `errSecNoAccessForItem` if other users could read or replace it.
    public static func open(_ path: String) throws(KeychainError) -> LocalKeychain {
        try open(path, uptime: Uptime.now)
    }

    static func open(
        _ path: String, clock: @escaping @Sendable () -> Int64 = ConnectionEnvironment.now,
        uptime: @escaping @Sendable () -> Uptime,
        isSessionLocked: @escaping @Sendable () -> Bool = ScreenLock.isLocked
    ) throws(KeychainError) -> LocalKeychain {
        let file = try KeychainFile(existing: path)
        let environment = ConnectionEnvironment(
            clock: clock, uptime: uptime, isSessionLocked: isSessionLocked)
        return try LocalKeychain(KeychainConnection(file, in: environment))
    }

    /// Whether the file is still the one that was opened.
    var isValid: Bool {
        state.withLock { $0.database.isPresent }
    }

    /// The defect of the keychain's own row: it hides no item, but URIs and references may give another id than the keychain has.
    public var damage: KeychainError? {
        state.withLock { opened in
            // The row may have been written anew since.
            opened.wasAltered ? (try? WrappedKey(readingFrom: opened.database))?.damage : nil
        }
    }

    /// A number that changes when anything changes the file. Reading it does not put off locking.
    var version: Int64? {
        state.withLock { opened in
            guard let others = (try? opened.database.dataVersion) ?? nil else { return nil }
            return others &+ opened.database.ownChanges
        }
    }

    /// Deletes the file. The key goes with it; every later call fails with `errSecInvalidKeychain`.
    ///
    /// - Throws: `errSecWrPerm` where the folder cannot be written to.
    public func delete() throws(KeychainError) {
        try use { opened throws(KeychainError) in
            try KeychainFile(existing: path).remove()
            opened.lock()
        }
    }

    /// The only access to the file: a deleted file or an expired key is not used. To look at items is no use that puts off locking: any
    /// program could keep the keychain unlocked for all.
    func use<Result: Sendable & ~Copyable>(
        _ body: (inout KeychainConnection) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try state.withLock { opened throws(KeychainError) in
            guard opened.database.isPresent else {
                opened.lock()
                throw KeychainError(.invalidKeychain, "the keychain at \(path) has been deleted or moved")
            }
            try opened.lookForRoom()
            state.lockIfOver(&opened)
            return try body(&opened)
        }
    }

    /// Runs `body` as ``use(_:)`` does, and tells watchers of the file that something may have changed.
    func change<Result: Sendable & ~Copyable>(
        _ body: (inout KeychainConnection) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        let result = try use { opened throws(KeychainError) in
            try opened.checkWritable()
            opened.noteUse()
            return try body(&opened)
        }
        state.tellOfChange()
        return result
    }

    public func checkWritable() throws(KeychainError) {
        try use { opened throws(KeychainError) in try opened.checkWritable() }
    }

    /// Gives the file a new time, which wakes the holders of the key. Only new settings and a new key do so.
    func touch() {
        _ = unsafe utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
    }
}

// MARK: Items

extension LocalKeychain {
    /// The items a query finds, at most as many as its limit, in the order they were added. No secret is needed for it.
    public func items(matching query: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        try use { opened throws(KeychainError) in try opened.search(query) }
    }

    /// The secret of an item, or nil if it was stored without one.
    ///
    /// - Throws: `errSecItemNotFound`, `errSecInteractionNotAllowed` if the keychain is locked or the item's access control
    ///   asks for something, `errSecDecode` if the item was altered by other means than this type,
    ///   `errSecDataNotAvailable` for a key that is not extractable.
    public func secret(of reference: PersistentReference) throws(KeychainError) -> Secret? {
        try use { opened throws(KeychainError) in try opened.secret(of: reference) }
    }

    /// The secret of an item as the file has it, encrypted, or nil if it was stored without one. Nothing is unlocked for it.
    func sealedSecret(of reference: PersistentReference) throws(KeychainError) -> [UInt8]? {
        try use { opened throws(KeychainError) in
            let row = try opened.row(of: reference)
            guard !row.isAltered else { throw row.altered }
            return row.holdsSecret ? row.sealed : nil
        }
    }

    /// The altered items that match by their present values: they are not found or changed, and are deleted only by
    /// their references.
    func damage(matching query: ResolvedQuery) throws(KeychainError) -> [Missing] {
        try use { opened throws(KeychainError) in try opened.damage(matching: query) }
    }

    public func plan(for query: Query) -> [String] {
        state.withLock { opened in (try? opened.plan(for: query)) ?? [] }
    }

    public func carryOut<Final: Sendable>(
        _ steps: [KeychainStep], then others: @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Final
    ) throws(KeychainError) -> Final {
        try change { opened throws(KeychainError) in try opened.carryOut(steps, then: others) }
    }
}

// MARK: Decisions

extension LocalKeychain {
    /// The decision on a program; nil without one, and while the keychain is locked.
    func decision(on subject: StoredDecision.Subject) -> Bool? {
        (try? use { opened throws(KeychainError) in try opened.decision(on: subject) }) ?? nil
    }

    /// The decisions about the keychain's items; none while it is locked.
    func decisions() throws(KeychainError) -> [StoredDecision] {
        try use { opened throws(KeychainError) in try opened.decisions() }
    }

    /// Notes decisions with their items, and removes others.
    ///
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`.
    func change(
        adding added: [StoredDecision], removing removed: [StoredDecision.Subject] = []
    ) throws(KeychainError) {
        try use { opened throws(KeychainError) in try opened.change(adding: added, removing: removed) }
    }

    /// Puts decisions that allow programs an item in the place of those before. Denials stay.
    ///
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`.
    func replaceAllowed(of item: String, with allowed: [StoredDecision]) throws(KeychainError) {
        try use { opened throws(KeychainError) in try opened.replaceAllowed(of: item, with: allowed) }
    }
}

// MARK: Seals

extension LocalKeychain {
    /// Whether the item is as a holder of the keychain's key stored it. Asks no person.
    ///
    /// - Parameter der: the public part that is about to be used.
    /// - Throws: `errSecDecode` where the item has been altered, `errSecItemNotFound`.
    func vouching(
        for reference: PersistentReference, with der: [UInt8]
    ) throws(KeychainError) -> Vouching {
        try use { opened throws(KeychainError) in
            let row = try opened.row(of: reference)
            guard row.der == der, !row.isAltered else { throw row.altered }
            return try opened.checkSeal(of: row)
        }
    }
}
