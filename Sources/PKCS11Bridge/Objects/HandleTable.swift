internal import CCryptoki
internal import SecureBytes
internal import Synchronization

/// The handles of objects: they count up, and are never given to another object.
final class HandleTable: Sendable {
    struct Entry: Sendable {
        let slot: CK_SLOT_ID
        let generation: Int
        /// The object at the last look.
        var object: CryptokiObject
        /// The session that it ends with; nil for an object of the token.
        var session: CK_SESSION_HANDLE?
        /// The bytes of a session's secret key or data object.
        var secret: SharedSecret?
        /// The login that it was made in.
        var login: Int?

        /// An object of a session that is its user's ends with his login, and one of the token is hidden until the next.
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

    /// The token and its state, which tell present objects from later ones.
    private struct Version: Equatable {
        let generation: Int
        let number: Int64
    }

    private let state: Mutex<State>

    /// - Parameter first: the number above which all handles are.
    init(after first: CK_OBJECT_HANDLE) {
        state = Mutex(State(last: first))
    }

    /// The number of objects with a handle.
    var count: Int { state.withLock { $0.entries.count } }

    /// The handles of a token's objects. New objects get new ones.
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

    /// The last handle there is, where a token's objects may be others by now than those that have handles; else nil.
    func lastHandle(behind version: Int64, in session: PKCS11Session) -> CK_OBJECT_HANDLE? {
        let version = Version(generation: session.generation, number: version)
        return state.withLock { state in
            guard state.versions[session.slot.id] != version else { return nil }
            if state.entries.values.contains(where: { $0.isOnToken(of: session) }) { return state.last }
            state.versions[session.slot.id] = version
            return nil
        }
    }

    /// Takes over the present objects of a token.
    ///
    /// - Parameters:
    ///   - objects: all of them, those of its user only where `seesPrivate`.
    ///   - last: the last handle of before they were listed: what has a later one is newer than the list.
    ///   - version: a number of before they were listed.
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
    func add(
        _ make: (Int) -> CryptokiObject, secret: SharedSecret?, in session: PKCS11Session
    ) -> CK_OBJECT_HANDLE {
        state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(
                slot: session.slot.id, generation: session.generation, object: make(Int(clamping: state.last)),
                session: session.handle, secret: secret, login: session.slot.login)
            return state.last
        }
    }

    /// Gives an object of a session other attributes, and optionally another value.
    func change(_ handle: CK_OBJECT_HANDLE, to object: CryptokiObject, _ secret: SharedSecret?) {
        state.withLock { state in
            state.entries[handle]?.object = object
            if let secret { state.entries[handle]?.secret = secret }
        }
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
    /// - Throws: `CKR_KEY_HANDLE_INVALID`; `CKR_USER_NOT_LOGGED_IN` for a key of the token's user whose login ended by itself, since
    ///   the next one finds it under this handle.
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

    /// The objects of sessions with a token that the template finds.
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

    /// Lets go of what sessions had in logins that ended by themselves.
    func removePrivateSessionObjects(of slot: CK_SLOT_ID, before login: Int?) {
        remove { $0.slot == slot && $0.session != nil && !$0.isVisible(in: login) }
    }

    private func remove(where isOver: (Entry) -> Bool) {
        state.withLock { state in
            for (handle, entry) in state.entries where isOver(entry) { state.remove(handle) }
        }
    }

    /// Lets go of what earlier tokens in a slot had.
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
