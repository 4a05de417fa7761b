internal import CCryptoki
internal import KeychainHost
internal import KeychainModel
internal import SecureBytes
internal import Synchronization
internal import TokenKit

// The card's data objects. A search looks for them only where it names their class, since that costs one command for each
// possible object, once. Other searches show the data objects that are already known to be present.
extension CardSlot {
    func data(matching template: Template, _ state: inout State) throws(CryptokiError) -> [CryptokiObject] {
        let isNamed = template.objectClass == CKO_DATA
        // A search by `CKA_VALUE` finds data objects only where it names their class, since no value is read otherwise.
        guard template.allows(CKO_DATA), isNamed || !template.types.contains(CKA_VALUE) else { return [] }
        let possible = try present(&state).data.possible
        let items = try items(&state)
        func object(_ data: TokenDataObject) -> CryptokiObject? {
            ItemObjects([items.item(of: data)], hidesLogin: promptPolicy.asksItself).objects().first
        }
        let attributes = template.without(CKA_VALUE)
        let sees = isLoggedIn
        let meant = possible.filter { (sees || !$0.needsPIN) && object($0)?.matches(attributes) == true }
        if isNamed { try look(for: meant.filter { isThere($0, state) == nil }, &state) }
        var found = meant.filter { isThere($0, state) == true }
        if let value = template.secret(CKA_VALUE) {
            var equal: [TokenDataObject] = []
            for object in found where try secret(of: object, &state).equals(value) { equal.append(object) }
            found = equal
        }
        return found.compactMap(object)
    }

    /// The value of a data object. It is kept while the card stays in and, for an object that needs the PIN, while the login
    /// lasts.
    func value(ofData name: ObjectName, _ state: inout State) throws(CryptokiError) -> Secret {
        guard case .item(CKO_DATA, let reference, _) = name else { throw CryptokiError(CKR_ATTRIBUTE_SENSITIVE) }
        let items = try items(&state)
        // On another card, it is another object.
        guard let object = state.card?.data.possible.first(where: { items.item(of: $0).reference == reference })
        else { throw CryptokiError(CKR_OBJECT_HANDLE_INVALID) }
        guard !object.needsPIN || isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        return try secret(of: object, &state)
    }

    private func secret(of object: TokenDataObject, _ state: inout State) throws(CryptokiError) -> Secret {
        if let known = object.needsPIN ? state.login.data.content(of: object) : state.card?.data.content(of: object) {
            return known
        }
        let finding: TokenDataFinding
        do throws(CryptokiError) { finding = try read(object, &state) } catch {
            guard error.code == CKR_USER_NOT_LOGGED_IN, try presentAgain(for: [object], &state) else { throw error }
            finding = try read(object, &state)
        }
        guard let content = learn(finding, of: object, &state) else {
            throw CryptokiError(CKR_OBJECT_HANDLE_INVALID, "the card no longer has it")
        }
        return content
    }

    private func read(_ object: TokenDataObject, _ state: inout State) throws(CryptokiError) -> TokenDataFinding {
        try reading(&state) { (insertion) throws(TokenError) in
            try slot.content(of: object.id, at: insertion).map { .whole($0) } ?? .absent
        }
    }

    // MARK: Looking

    private func look(for objects: [TokenDataObject], _ state: inout State) throws(CryptokiError) {
        guard !objects.isEmpty else { return }
        var locked = try findings(of: objects, &state)
        do throws(CryptokiError) {
            if try presentAgain(for: locked, &state) { locked = try findings(of: locked, &state) }
        } catch {
            // The login ended during the search, which shows the objects that are visible without it.
            guard error.code == CKR_USER_NOT_LOGGED_IN else { throw error }
            return
        }
        for object in locked { _ = learn(.absent, of: object, &state) }
    }

    /// Looks for each of the objects.
    ///
    /// - Returns: the objects that need the PIN first.
    private func findings(
        of objects: [TokenDataObject], _ state: inout State
    ) throws(CryptokiError) -> [TokenDataObject] {
        guard !objects.isEmpty else { return [] }
        var findings = try reading(&state) { (insertion) throws(TokenError) in
            try slot.look(for: objects.map(\.id), at: insertion)
        }
        return objects.filter { object in
            guard let finding = findings.removeValue(forKey: object.id) else { return true }
            _ = learn(finding, of: object, &state)
            return false
        }
    }

    /// Presents the PIN of the login again, since another program made the card forget it.
    ///
    /// - Returns: false where no object needs the PIN, or the login's PIN is not known here.
    private func presentAgain(for objects: [TokenDataObject], _ state: inout State) throws(CryptokiError) -> Bool {
        guard objects.contains(where: \.needsPIN), let pin = loginPIN() else { return false }
        do throws(CryptokiError) { try verify(PIN(pin), &state) } catch { throw refused(error, &state) }
        return true
    }

    // MARK: Known data objects

    private func isThere(_ object: TokenDataObject, _ state: borrowing State) -> Bool? {
        object.needsPIN ? state.login.data.isThere(object) : state.card?.data.isThere(object)
    }

    /// - Returns: the object's content, where it is known.
    private func learn(
        _ finding: consuming TokenDataFinding, of object: TokenDataObject, _ state: inout State
    ) -> Secret? {
        if object.needsPIN {
            state.login.data.learn(finding, of: object.id)
            return state.login.data.content(of: object)
        }
        state.card?.data.learn(finding, of: object.id)
        return state.card?.data.content(of: object)
    }
}
