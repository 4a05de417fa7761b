internal import CCryptoki
internal import SecureBytes
internal import Synchronization

/// The handles of objects. They count up, and are never reused for another object.
final class HandleTable: Sendable {
    struct Entry: Sendable {
        let slot: CK_SLOT_ID
        let generation: Int
        /// The object when it was last read.
        var object: CryptokiObject
        /// The session that the object ends with; nil for an object of the token.
        var session: CK_SESSION_HANDLE?
        /// The bytes of a session's secret key or data object.
        var secret: SharedSecret?
        /// The share of the quota for a session's object; nil for an object of the token.
        var share: QuotaShare?
        /// The login in which a session's object was made.
        var login: Int?

        /// A private object of a session ends with the login. A private object of the token is hidden until the next login.
        func isVisible(in current: Int?) -> Bool {
            !object.isPrivate || current != nil && (session == nil || login == current)
        }

        func isOnToken(of other: PKCS11Session) -> Bool {
            session == nil && slot == other.slot.id && generation == other.generation
        }
    }

    private struct Name: Hashable {
        let slot: CK_SLOT_ID
        let generation: Int
        let object: ObjectName
    }

    private struct State {
        var last: CK_OBJECT_HANDLE
        var handles: [Name: CK_OBJECT_HANDLE] = [:]
        var entries: [CK_OBJECT_HANDLE: Entry] = [:]
        var versions: [CK_SLOT_ID: Version] = [:]

        mutating func remove(_ handle: CK_OBJECT_HANDLE) {
            guard let entry = entries.removeValue(forKey: handle) else { return }
            let name = Name(slot: entry.slot, generation: entry.generation, object: entry.object.name)
            if handles[name] == handle { handles.removeValue(forKey: name) }
        }
    }

    /// The token and the number of its state, which shows whether objects may have changed.
    private struct Version: Equatable {
        let generation: Int
        let number: Int64
    }

    private let state: Mutex<State>
    /// The quota of the program, for its objects and for the parts of messages that are kept.
    let quota = MemoryQuota(.ofClient, of: .shared)

    /// - Parameter first: the number above which all handles are.
    init(after first: CK_OBJECT_HANDLE) {
        state = Mutex(State(last: first))
    }

    /// The number of objects with a handle.
    var count: Int { state.withLock { $0.entries.count } }

    /// The handles of a token's objects. New objects get new handles.
    func handles(of objects: [CryptokiObject], in session: PKCS11Session) -> [CK_OBJECT_HANDLE] {
        state.withLock { state in
            objects.map { object in
                let name = Name(slot: session.slot.id, generation: session.generation, object: object.name)
                let entry = Entry(slot: session.slot.id, generation: session.generation, object: object)
                if let handle = state.handles[name] {
                    state.entries[handle] = entry
                    return handle
                }
                state.last += 1
                state.handles[name] = state.last
                state.entries[state.last] = entry
                return state.last
            }
        }
    }

    /// The last handle so far, where a token's objects may have changed since they got their handles; else nil.
    func lastHandle(behind version: Int64, in session: PKCS11Session) -> CK_OBJECT_HANDLE? {
        let version = Version(generation: session.generation, number: version)
        return state.withLock { state in
            guard state.versions[session.slot.id] != version else { return nil }
            if state.entries.values.contains(where: { $0.isOnToken(of: session) }) { return state.last }
            state.versions[session.slot.id] = version
            return nil
        }
    }

    /// Replaces the known objects of a token by the present ones, and drops handles of objects that are gone.
    ///
    /// - Parameters:
    ///   - objects: all objects of the token, private ones only where `seesPrivate`.
    ///   - last: the last handle before the objects were listed. Objects with later handles are newer than the list.
    ///   - version: the token's version before the objects were listed.
    func update(
        to objects: [CryptokiObject], seesPrivate: Bool, last: CK_OBJECT_HANDLE, version: Int64,
        in session: PKCS11Session
    ) {
        let found = Dictionary(objects.map { ($0.name, $0) }) { first, _ in first }
        state.withLock { state in
            state.versions[session.slot.id] = Version(generation: session.generation, number: version)
            for (handle, entry) in state.entries where handle <= last && entry.isOnToken(of: session) {
                if let object = found[entry.object.name] {
                    state.entries[handle]?.object = object
                } else if seesPrivate || !entry.object.isPrivate {
                    state.remove(handle)
                }
            }
        }
    }

    /// The handle of an object that ends with its session.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`.
    func add(
        _ make: (Int) -> CryptokiObject, secret: SharedSecret?, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        try state.withLock { state throws(CryptokiError) in
            let object = make(Int(clamping: state.last + 1))
            let share = try quota.objectShare(bytes: HandleTable.bytes(of: object, secret))
            state.last += 1
            state.entries[state.last] = Entry(
                slot: session.slot.id, generation: session.generation, object: object, session: session.handle,
                secret: secret, share: share, login: session.slot.login)
            return state.last
        }
    }

    /// Gives an object of a session other attributes, and optionally another value.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`.
    func change(
        _ handle: CK_OBJECT_HANDLE, to object: CryptokiObject, _ secret: SharedSecret?
    ) throws(CryptokiError) {
        try state.withLock { state throws(CryptokiError) in
            guard var entry = state.entries[handle] else { return }
            let former = HandleTable.bytes(of: entry.object, entry.secret)
            if let secret { entry.secret = secret }
            entry.object = object
            try entry.share?.grow(by: HandleTable.bytes(of: object, entry.secret) - former)
            state.entries[handle] = entry
        }
    }

    private static func bytes(of object: CryptokiObject, _ secret: SharedSecret?) -> Int {
        object.attributes.values.reduce(secret?.secret.count ?? 0) { $0 + $1.count }
    }

    /// - Throws: `CKR_OBJECT_HANDLE_INVALID`, also for a private object while nobody is logged in.
    func entry(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) throws(CryptokiError) -> Entry {
        guard let entry = known(handle, in: session), entry.isVisible(in: session.slot.login) else {
            throw CryptokiError(CKR_OBJECT_HANDLE_INVALID, "handle \(handle)")
        }
        return entry
    }

    /// The entry of a key that is to be used.
    ///
    /// - Throws: `CKR_KEY_HANDLE_INVALID`; `CKR_USER_NOT_LOGGED_IN` for a private key of the token after the login ended by
    ///   itself, since the handle is valid again in the next login.
    func keyEntry(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) throws(CryptokiError) -> Entry {
        guard let entry = known(handle, in: session) else {
            throw CryptokiError(CKR_KEY_HANDLE_INVALID, "handle \(handle)")
        }
        guard entry.isVisible(in: session.slot.login) else {
            guard entry.session == nil else { throw CryptokiError(CKR_KEY_HANDLE_INVALID, "handle \(handle)") }
            throw CryptokiError(CKR_USER_NOT_LOGGED_IN, "the login that showed the key is over")
        }
        return entry
    }

    private func known(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) -> Entry? {
        state.withLock { $0.entries[handle] }.flatMap {
            $0.slot == session.slot.id && $0.generation == session.generation ? $0 : nil
        }
    }

    /// The session objects of a token that match the template.
    func sessionObjects(matching template: Template, in session: PKCS11Session) -> [CK_OBJECT_HANDLE] {
        let login = session.slot.login
        return state.withLock { state in
            state.entries.filter { _, entry in
                entry.session != nil && entry.slot == session.slot.id && entry.isVisible(in: login)
                    && entry.object.matches(template)
            }.keys.sorted()
        }
    }

    /// Drops the private objects after a logout: their handles stay invalid, also in the next login. PKCS #11 §5.6.10.
    func removePrivateObjects(of slot: CK_SLOT_ID) {
        remove { $0.slot == slot && $0.object.isPrivate }
    }

    /// Drops the private session objects of logins that ended by themselves.
    func removePrivateSessionObjects(of slot: CK_SLOT_ID, before login: Int?) {
        remove { $0.slot == slot && $0.session != nil && !$0.isVisible(in: login) }
    }

    private func remove(where isOver: (Entry) -> Bool) {
        state.withLock { state in
            for (handle, entry) in state.entries where isOver(entry) { state.remove(handle) }
        }
    }

    /// Drops the objects of earlier tokens in a slot.
    func removeObjects(of slot: CK_SLOT_ID, before generation: Int) {
        remove { $0.slot == slot && $0.generation < generation }
    }

    func remove(_ handle: CK_OBJECT_HANDLE) {
        state.withLock { $0.remove(handle) }
    }

    func removeObjects(of sessions: Set<CK_SESSION_HANDLE>) {
        remove { $0.session.map(sessions.contains) ?? false }
    }
}
