package import HostAPI
internal import KeychainCalls
internal import KeychainModel
internal import Localization
package import SecureBytes
package import Wire

/// The functions of SecKeychain.h for one program with the C library, in the host's process.
///
/// The library's references name keychains by path and items by persistent reference, so that nothing of a program is kept here.
package struct KeychainBridge: Sendable {
    private let caller: KeychainCaller
    private let silentCaller: KeychainCaller
    private let service: any InProcessHost
    private let wantsNotes: Bool

    /// - Parameters:
    ///   - service: the host as this program sees it; it ends with the program.
    ///   - wantsNotes: whether the program keeps a log.
    package init(_ service: any InProcessHost, wantsNotes: Bool) {
        caller = KeychainCaller(service)
        silentCaller = KeychainCaller(service, Interaction(isAllowed: false))
        self.service = service
        self.wantsNotes = wantsNotes
    }

    /// Ends the program's waits, and releases its files.
    package func end() { service.end() }

    /// Answers a call as its function does. A failure is an answer too.
    ///
    /// - Parameter secrets: the secret of the call's message: a password, where the call gives one.
    package func result(of call: KeychainCall, secrets: consuming Secret) -> KeychainResult {
        var result: KeychainResult
        do throws(KeychainError) {
            result = try self.result(of: CallArguments(call), password(secrets, of: call))
        } catch {
            result = KeychainResult(failing: error)
        }
        if wantsNotes { result.addWords() }
        return result
    }

    /// - Throws: `errSecParam` for a password that the call does not announce.
    private func password(_ secrets: consuming Secret, of call: KeychainCall) throws(KeychainError) -> Secret? {
        guard call.hasPassword, call.function.givesPassword else {
            guard secrets.isEmpty else { throw KeychainError(.param, "the function takes no password") }
            return nil
        }
        return secrets
    }

    private func result(
        of call: CallArguments, _ password: consuming Secret?
    ) throws(KeychainError) -> KeychainResult {
        let caller = call.allowsQuestions ? caller : silentCaller
        switch call.function {
        case .path, .create, .deleteKeychain, .defaultPath, .setDefault, .lock, .lockAll, .unlock, .status:
            return try keychainResult(of: call, password, caller)
        case .add, .find, .search, .item, .content, .change, .copy, .delete, .access, .setAccess:
            return try itemResult(of: call, password, caller)
        }
    }

    // MARK: Keychains

    private func keychainResult(
        of call: CallArguments, _ password: consuming Secret?, _ caller: KeychainCaller
    ) throws(KeychainError) -> KeychainResult {
        switch call.function {
        case .path: return KeychainResult(path: try caller.host.path(ofKeychain: call.path(), caller.request()))
        case .create: return KeychainResult(path: try caller.create(call.path(), password: password))
        case .deleteKeychain: try caller.delete(call.path())
        case .defaultPath: return KeychainResult(path: try caller.defaultPath())
        case .setDefault: try caller.host.choose(.defaultKeychain(call.path()), in: .user, caller.request())
        case .lock: try caller.lock(call.keychain)
        case .lockAll: _ = try caller.host.lock(nil, caller.request())
        case .unlock: try caller.unlock(call.keychain, password: password)
        default: return KeychainResult(number: try caller.keychain(at: call.keychain).keychain.status.rawValue)
        }
        return KeychainResult()
    }

    // MARK: Items

    private func itemResult(
        of call: CallArguments, _ password: consuming Secret?, _ caller: KeychainCaller
    ) throws(KeychainError) -> KeychainResult {
        switch call.function {
        case .add: return try add(call, password, caller)
        case .find: return try find(call, caller)
        case .search:
            let itemClass = try call.itemClass()
            let outcome = try caller.items(itemClass, call.attributes(of: itemClass), in: call.searched)
            var places = Places(caller)
            var items: [KeychainItem] = []
            for item in outcome.found { items.append(try places.item(item)) }
            return KeychainResult(items: items, missing: outcome.missing)
        case .item:
            let reference = try PersistentReference(parsing: call.item)
            let outcome = try caller.host.items(matching: Query(reference), caller.request())
            guard let found = outcome.found.first(where: \.itemClass.isPassword) else {
                throw KeychainError(.itemNotFound)
            }
            var places = Places(caller)
            return KeychainResult(items: [try places.item(found)])
        case .content: return try content(call, caller)
        case .change:
            let item = try present(call, caller)
            let attributes = try call.attributes(of: item.itemClass)
            if attributes.isEmpty, !call.hasPassword { return KeychainResult() }
            try caller.change(item, attributes, password: password)
            return KeychainResult()
        case .copy:
            let target = try caller.keychain(at: call.target).keychain.location
            let copied = try caller.copy(
                PersistentReference(parsing: call.item), in: call.keychain, to: target, access: call.access)
            return KeychainResult(items: [KeychainItem(copied, at: target)])
        case .access:
            let access = try caller.host.access(to: present(call, caller).reference, caller.request())
            return KeychainResult(programs: access.readers.map { KeychainProgram($0) })
        case .setAccess:
            try caller.setAccess(of: present(call, caller), call.access ?? [])
            return KeychainResult()
        default:
            try caller.delete(present(call, caller))
            return KeychainResult()
        }
    }

    private func add(
        _ call: CallArguments, _ password: consuming Secret?, _ caller: KeychainCaller
    ) throws(KeychainError) -> KeychainResult {
        let itemClass = try call.itemClass()
        var attributes = try call.attributes(of: itemClass)
        attributes[.label] = attributes[.label] ?? attributes[.service] ?? attributes[.server]
        let target = try caller.keychain(at: call.keychain).keychain.location
        let added = try caller.add(
            .password(itemClass, attributes, secret: password), to: target, access: call.access)
        return KeychainResult(items: [KeychainItem(added, at: target)])
    }

    private func find(_ call: CallArguments, _ caller: KeychainCaller) throws(KeychainError) -> KeychainResult {
        let itemClass = try call.itemClass()
        let found = try caller.find(
            itemClass, call.attributes(of: itemClass), in: call.searched, readingPassword: call.hasPassword)
        var places = Places(caller)
        return KeychainResult(
            items: [try places.item(found.item)], missing: found.missing,
            found.password.map { $0.secret.clone() })
    }

    private func content(_ call: CallArguments, _ caller: KeychainCaller) throws(KeychainError) -> KeychainResult {
        let item = try present(call, caller)
        let wanted = call.attributes.map { Attribute(tag: $0.tag) }
        for name in wanted where !item.itemClass.has(name) {
            throw KeychainError(.noSuchAttribute, key: name.rawValue)
        }
        let password = call.hasPassword ? try caller.password(of: item).secret.clone() : nil
        let attributes = zip(call.attributes, wanted).map { KeychainAttribute(UInt64($0.tag), item.data(of: $1)) }
        return KeychainResult(number: item.itemClass.fourCharCode, attributes: attributes, password)
    }

    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    private func present(_ call: CallArguments, _ caller: KeychainCaller) throws(KeychainError) -> Item {
        try caller.present(PersistentReference(parsing: call.item), in: call.keychain)
    }
}

extension KeychainFunction {
    /// Whether the function takes a password; others may return one.
    fileprivate var givesPassword: Bool {
        switch self {
        case .create, .unlock, .add, .change: true
        default: false
        }
    }
}

/// The paths of the keychains that an answer's items are in, each of which is looked up once.
private struct Places {
    private let caller: KeychainCaller
    private var paths: [KeychainIdentifier: String] = [:]

    init(_ caller: KeychainCaller) {
        self.caller = caller
    }

    mutating func item(_ item: Item) throws(KeychainError) -> KeychainItem {
        if let path = paths[item.keychain] { return KeychainItem(item, at: path) }
        let path = try caller.host.keychain(item.keychain, caller.request()).keychain.location
        paths[item.keychain] = path
        return KeychainItem(item, at: path)
    }
}

extension KeychainItem {
    fileprivate init(_ item: Item, at path: String) {
        self.init(keychain: Array(path.utf8), reference: item.reference.encoded())
    }
}
