package import HostAPI
package import KeychainModel
internal import Localization
package import SecureBytes

/// A program that calls the functions of SecKeychain.h, and its host.
///
/// Keychains are named by the paths of their files, nil for the default one.
package struct KeychainCaller: Sendable {
    package let host: any KeychainService
    /// Whether people may be asked, which the program can forbid.
    package let interaction: Interaction

    package init(_ host: any KeychainService, _ interaction: Interaction = Interaction()) {
        self.host = host
        self.interaction = interaction
    }

    /// The circumstances of a call.
    ///
    /// - Parameter purpose: the words that complete "PIN to …".
    package func request(_ purpose: String? = nil) -> RequestContext {
        RequestContext(purpose: purpose, questions: interaction.isAllowed ? .byHost : .never)
    }

    // MARK: Keychains

    /// - Throws: `errSecNoSuchKeychain`, `errSecNoDefaultKeychain`.
    package func keychain(at path: String?) throws(KeychainError) -> KeychainDetails {
        try host.openKeychain(at: path, request())
    }

    /// - Throws: `errSecNoDefaultKeychain`.
    package func defaultPath() throws(KeychainError) -> String {
        guard let path = try host.keychainChoice(in: nil, request()).defaultKeychain else {
            throw KeychainError(.noDefaultKeychain, "there is no default keychain", remedy: "create one")
        }
        return path
    }

    private func identifier(of path: String?) throws(KeychainError) -> KeychainIdentifier {
        try keychain(at: path).keychain.identifier
    }

    /// - Returns: the path.
    package func create(_ path: String, password: consuming Secret?) throws(KeychainError) -> String {
        try host.createKeychain(path, password: SharedSecret(ifAny: password), request()).keychain.location
    }

    /// - Throws: `errSecNoSuchKeychain` for a file that is gone already.
    package func delete(_ path: String) throws(KeychainError) {
        try host.deleteKeychain(keychain(at: path).keychain.location, request())
    }

    /// - Parameter password: nil to ask a person.
    /// - Throws: `errSecAuthFailed`, also where no person can be asked.
    package func unlock(_ path: String?, password: consuming Secret?) throws(KeychainError) {
        var request = request()
        switch consume password {
        case .some(let secret): request.credentials = [RequestContext.Credential(.password, secret)]
        case .none: break
        }
        do { try host.unlock(identifier(of: path), request) } catch {
            guard error.code == .interactionNotAllowed else { throw error }
            throw KeychainError(.authFailed, error.reasonText, remedy: error.remedyText)
        }
    }

    package func lock(_ path: String?) throws(KeychainError) {
        _ = try host.lock(identifier(of: path), request())
    }

    package func configure(_ path: String?, _ settings: KeychainSettings) throws(KeychainError) {
        try host.configure(identifier(of: path), settings, request())
    }

    // MARK: Passwords

    /// - Parameters:
    ///   - path: the keychain that the item is added to.
    ///   - access: the programs that may read it without a question; nil for this one alone. An item that cannot have them is not added.
    package func add(
        _ item: NewItem, to path: String?, access: [AccessProgram]? = nil
    ) throws(KeychainError) -> Item {
        guard let access else { return try host.add(item, to: identifier(of: path), request("store a password")) }
        // The most likely failures come before there is an item.
        let files = access.compactMap { program in
            if case .path(let path) = program { path } else { nil as String? }
        }
        _ = try host.changeAccess(.allow(files, []), RequestContext(questions: .never))
        let added = try host.add(item, to: identifier(of: path), request("store a password"))
        do throws(KeychainError) {
            try setAccess(of: added, access)
        } catch {
            try? delete(added)
            throw error
        }
        return added
    }

    /// Sets the programs that may read a password without a question. A person has to agree to more than before.
    package func setAccess(of item: Item, _ programs: [AccessProgram]) throws(KeychainError) {
        _ = try host.changeAccess(.replace(programs.map { AccessRule($0) }, item.reference), request())
    }

    /// The passwords that match, with synchronizing ones last. An empty text counts as not given.
    ///
    /// - Parameter paths: the keychains to look into; nil for the search list.
    package func items(
        _ itemClass: ItemClass, _ attributes: Attributes, in paths: [String]?
    ) throws(KeychainError) -> Outcome<[Item]> {
        let given = attributes.filter { $0.value.bytes?.isEmpty != true }
        var identifiers: [KeychainIdentifier]?
        if let paths {
            var named: [KeychainIdentifier] = []
            for path in paths { named.append(try identifier(of: path)) }
            identifiers = named
        }
        let query = try Query(
            itemClass, given.merging([.synchronizable: Query.anySynchronizable]) { $1 }, in: identifiers, limit: .all)
        var outcome = try host.items(matching: query, request())
        outcome.found = outcome.found.filter { !$0.synchronizes } + outcome.found.filter(\.synchronizes)
        return outcome
    }

    /// Finds one password. A synchronizing item is found only where no other matches. A failing keychain or a damaged password
    /// is skipped.
    ///
    /// - Parameter readsPassword: whether the password is wanted as well.
    /// - Returns: also the gaps of the answer.
    /// - Throws: `errSecItemNotFound`; the error of the first keychain where all of them fail.
    package func find(
        _ itemClass: ItemClass, _ attributes: Attributes, in paths: [String]?, readingPassword readsPassword: Bool
    ) throws(KeychainError) -> (item: Item, password: SharedSecret?, missing: [Missing]) {
        var outcome = try items(itemClass, attributes, in: paths)
        for item in outcome.found {
            do throws(KeychainError) {
                return (item, readsPassword ? try password(of: item) : nil, outcome.missing)
            } catch {
                guard error.code == .decode else { throw error }
                outcome.add(missing: [Missing(.damagedItem, in: .file, of: item.keychain.rawValue, error)])
            }
        }
        throw outcome.damage ?? .notFound(ErrSec.itemNotFound.text, besides: outcome.missing)
    }

    /// The password of an item, empty for an item without one. A person is asked for what the access control requires.
    package func password(of item: Item, to purpose: String = "read a password") throws(KeychainError) -> SharedSecret {
        try host.secret(of: item.reference, request(purpose)) ?? SharedSecret(Secret(capacity: 0) { _ in })
    }

    /// The item as it is now.
    ///
    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    package func present(_ reference: PersistentReference, in path: String?) throws(KeychainError) -> Item {
        let query = Query(reference, in: try path.map { (path) throws(KeychainError) in [try identifier(of: path)] })
        guard let item = try host.items(matching: query, request()).found.first else {
            throw KeychainError(.invalidItemReference, "the item has been deleted")
        }
        return item
    }

    /// Adds a copy of a password to another keychain, with all attributes except its dates.
    ///
    /// - Parameter access: as for ``add(_:to:access:)``.
    package func copy(
        _ reference: PersistentReference, in path: String?, to target: String?, access: [AccessProgram]? = nil
    ) throws(KeychainError) -> Item {
        let item = try present(reference, in: path)
        let attributes = item.attributes.filter { ![.creationDate, .modificationDate].contains($0.key) }
        let password = try password(of: item, to: "copy a password").secret.clone()
        return try add(.password(item.itemClass, attributes, secret: password), to: target, access: access)
    }

    /// Changes the given attributes, and the password if one is given.
    ///
    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    package func change(
        _ item: Item, _ attributes: Attributes, password: consuming Secret?
    ) throws(KeychainError) {
        let step = ChangeStep.update(
            Query(item.reference, in: [item.keychain]), attributes, secret: SharedSecret(ifAny: password))
        try ofPresentItem { () throws(KeychainError) in
            _ = try host.change([step], request("change a password"))
        }
    }

    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    package func delete(_ item: Item) throws(KeychainError) {
        try ofPresentItem { () throws(KeychainError) in
            _ = try host.change([.delete(Query(item.reference, in: [item.keychain]))], request())
        }
    }

    private func ofPresentItem(_ body: () throws(KeychainError) -> Void) throws(KeychainError) {
        do { try body() } catch {
            guard error.code == .itemNotFound else { throw error }
            throw KeychainError(.invalidItemReference, "the item has been deleted")
        }
    }

    /// Writes a password and its length to the places that the caller gave.
    ///
    /// - Parameter data: receives memory that ``CallerMemory/free(_:)`` frees.
    @unsafe package static func give(
        _ password: SharedSecret?, _ length: UnsafeMutablePointer<UInt32>?,
        _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) throws(KeychainError) {
        guard let password else { return }
        let secret = password.secret.clone()
        unsafe length?.pointee = UInt32(clamping: secret.count)
        if unsafe data != nil { unsafe data?.pointee = try CallerMemory.copy(secret.bytes) }
    }
}

extension Item {
    fileprivate var synchronizes: Bool { self[.synchronizable]?.isDefault == false }
}

extension ItemAccess {
    /// The programs that may read a password without a question.
    package var readers: [AccessProgram] {
        var readers: [AccessProgram] = []
        for rule in allowed where rule.use == nil || rule.use == .read {
            if !readers.contains(rule.program) { readers.append(rule.program) }
        }
        return readers
    }
}
