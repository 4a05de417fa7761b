internal import Glibc
internal import Synchronization
public import TokenKit

/// A keychain in one file: certificates, keys and passwords, the secrets encrypted under a password.
///
/// Attributes, certificates and public keys are in clear, so that everything but secrets can be searched and read while
/// the keychain is locked. A secret is sealed together with all attributes of its item, and does not open once any of
/// them was changed by other means. What carries no secret, and the presence of an item, are not protected that way.
///
/// Several processes may use one file, and several threads one value. A process must not fork while it uses a value.
///
///     let keychain = try LocalKeychain.create(at: "keychains/login.keychain", password: password)
///     let item = try keychain.add(.genericPassword([.account: "anna", .service: "mail"], secret: secret))
///     let found = try keychain.items(matching: Query(.genericPassword, [.service: "mail"], limit: .all)).items
public final class LocalKeychain: Sendable {
    /// The file, without symbolic links.
    public let path: String
    /// What the items of this keychain give as their keychain.
    public let identifier: KeychainIdentifier
    /// Whether the file can only be read.
    public let isReadOnly: Bool

    let state: Mutex<OpenKeychain>

    private init(_ opened: consuming sending OpenKeychain, path: String) {
        self.path = path
        identifier = KeychainIdentifier(local: opened.id)
        isReadOnly = opened.database.isReadOnly
        state = Mutex(opened)
    }

    /// Creates a keychain and opens it unlocked.
    ///
    /// Folders that are missing are made for the owner alone. A crash leaves either the whole keychain or none.
    ///
    /// - Parameter cost: What one guess at the password is to cost.
    /// - Throws: `errSecDuplicateKeychain` if anything is at `path`.
    public static func create(
        at path: String, password: borrowing Secret, cost: ScryptCost = .standard
    ) throws(KeychainError) -> LocalKeychain {
        let file = try KeychainFile(new: path)
        let key = try OpenKeychain.create(file, password: password, cost: cost)
        let keychain = try open(file.path)
        keychain.setKey(key)
        return keychain
    }

    /// Opens a keychain, locked.
    ///
    /// A file whose owner may not write to it is opened for reading.
    ///
    /// - Throws: `errSecNoSuchKeychain`, `errSecInvalidKeychain` for any other file, `errSecWrongSecVersion` for one of a
    ///   newer program, `errSecNoAccessForItem` if other users could read or replace it.
    public static func open(_ path: String) throws(KeychainError) -> LocalKeychain {
        try open(path, clock: OpenKeychain.now)
    }

    static func open(
        _ path: String, clock: @escaping @Sendable () -> Int64
    ) throws(KeychainError) -> LocalKeychain {
        let file = try KeychainFile(existing: path)
        return LocalKeychain(try OpenKeychain(file, clock: clock), path: file.path)
    }

    /// Deletes the file. The key goes with it; every later call fails with `errSecInvalidKeychain`.
    ///
    /// - Throws: `errSecWrPerm` where the folder cannot be written to.
    public func delete() throws(KeychainError) {
        try use { opened throws(KeychainError) in
            try KeychainFile(existing: path).remove()
            opened.key = nil
            // Where the kernel keeps no keys there is none to take away.
            _ = try? opened.withdrawKey()
        }
    }

    /// The one way to the file: what is no longer there is not used any more.
    func use<Result: Sendable & ~Copyable>(
        _ body: (inout OpenKeychain) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try state.withLock { opened throws(KeychainError) in
            guard opened.database.isPresent else {
                opened.key = nil
                throw KeychainError(.invalidKeychain, "the keychain at \(path) has been deleted or moved")
            }
            return try body(&opened)
        }
    }
}

// MARK: Items

extension LocalKeychain {
    /// Adds an item.
    ///
    /// - Throws: `errSecDuplicateItem` if there is one with the same ``ItemClass/uniqueAttributes``,
    ///   `errSecInteractionNotAllowed` if it has a secret and the keychain is locked, `errSecReadOnly`.
    @discardableResult
    public func add(_ item: borrowing NewItem) throws(KeychainError) -> Item {
        try use { opened throws(KeychainError) in try opened.add(item) }
    }

    /// The items a query finds, at most as many as its limit, in the order they were added. No secret is needed for it.
    public func items(matching query: Query) throws(KeychainError) -> SearchResult {
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

    public func plan(for query: Query) -> [String] {
        state.withLock { opened in (try? opened.plan(for: query)) ?? [] }
    }

    public func update(
        matching query: Query, to changes: borrowing ItemChanges, with others: @Sendable () throws(KeychainError) -> Int
    ) throws(KeychainError) -> Int {
        try use { opened throws(KeychainError) in try opened.update(query, changes, with: others) }
    }

    public func delete(
        matching queries: [Query], with others: @Sendable () throws(KeychainError) -> Int
    ) throws(KeychainError) -> Int {
        try use { opened throws(KeychainError) in try opened.delete(queries, with: others) }
    }
}

// MARK: Locking

extension LocalKeychain {
    /// Whether secrets are out of reach.
    public var isLocked: Bool {
        state.withLock { $0.key == nil }
    }

    /// Makes secrets readable in this process. A wrong password takes as long as the right one.
    ///
    /// - Throws: `errSecAuthFailed` for a wrong password.
    public func unlock(password: borrowing Secret) throws(KeychainError) {
        setKey(try wrappedKey().unwrap(password: password))
    }

    /// Forgets the key.
    public func lock() {
        state.withLock { $0.key = nil }
    }

    /// Replaces the password; items stay as they are, and so does being locked or unlocked.
    ///
    /// - Throws: `errSecAuthFailed` for a wrong old password, or if another process changed it at the same time.
    public func changePassword(
        from old: borrowing Secret, to new: borrowing Secret, cost: ScryptCost = .standard
    ) throws(KeychainError) {
        guard !isReadOnly else { throw KeychainError(.readOnly) }
        let current = try wrappedKey()
        let key = try current.unwrap(password: old)
        let replacement = try WrappedKey(wrapping: key, of: current.keychain, password: new, cost: cost)
        let replaced = try use { opened throws(KeychainError) in try opened.replace(current, by: replacement)
        }
        guard replaced else { throw KeychainError(.authFailed, "the password was changed by another program") }
    }

    func wrappedKey() throws(KeychainError) -> WrappedKey {
        try use { opened throws(KeychainError) in try WrappedKey(readingFrom: opened.database) }
    }

    func setKey(_ key: consuming Secret) {
        var key: Secret? = key
        state.withLock { $0.key = key.take() }
    }
}

// MARK: The login session

extension LocalKeychain {
    /// Leaves the key where later processes of the login session find it, for a number of seconds.
    ///
    /// - Throws: `errSecInteractionNotAllowed` if the keychain is locked, `errSecNotAvailable` where the kernel keeps no
    ///   keys; the keychain stays unlocked in this process all the same.
    public func shareKeyWithSession(seconds: UInt32) throws(KeychainError) {
        try use { opened throws(KeychainError) in try opened.shareKey(seconds: seconds) }
    }

    /// Unlocks with the key an earlier process of the login session left.
    ///
    /// - Returns: false if there is none, or it is not this keychain's.
    /// - Throws: `errSecNotAvailable` where the kernel keeps no keys.
    public func unlockFromSession() throws(KeychainError) -> Bool {
        try use { opened throws(KeychainError) in try opened.takeSharedKey() }
    }

    /// Takes the key away from the login session, and forgets it here.
    ///
    /// - Returns: whether the session had it.
    @discardableResult
    public func lockSession() throws(KeychainError) -> Bool {
        lock()
        return try use { opened throws(KeychainError) in try opened.withdrawKey() }
    }
}
