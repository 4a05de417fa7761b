internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
internal import TokenKit

// The card's data objects. A search looks for the ones that it names, since that costs one command for each possible object, once.
// Other searches show the data objects that are already known to be present.
extension CardPlace {
    func data(_ selection: TokenItemSelection.Data, _ state: inout State) throws(KeychainError) -> [Item] {
        guard selection != .none else { return [] }
        let possible = try present(&state).data.possible
        let maker = try itemMaker(&state)
        let sees = isLoggedIn
        var meant = possible.filter { sees || !$0.needsPIN }
        switch selection {
        case .among(let references):
            let wanted = Set(references)
            meant.removeAll { !wanted.contains(maker.item(of: $0).reference) }
            try look(for: meant.filter { isThere($0, state) == nil }, &state)
            fallthrough
        case .known: meant.removeAll { isThere($0, state) != true }
        case .possible, .none: break
        }
        return meant.map { maker.item(of: $0) }
    }

    /// The content of a data object. It is kept while the card stays in and, for an object that needs the PIN, while the login
    /// lasts.
    func content(of data: PersistentReference) throws(KeychainError) -> SharedSecret? {
        try inTurn { state throws(KeychainError) in
            let maker = try itemMaker(&state)
            // On another card, it is another object.
            guard let object = state.card?.data.possible.first(where: { maker.item(of: $0).reference == data })
            else { throw KeychainError(.itemNotFound) }
            guard !object.needsPIN || isLoggedIn else { throw .notLoggedIn }
            return SharedSecret(try secret(of: object, &state))
        }
    }

    private func secret(of object: TokenDataObject, _ state: inout State) throws(KeychainError) -> Secret {
        if let known = object.needsPIN ? state.login.data.content(of: object) : state.card?.data.content(of: object) {
            return known
        }
        let finding: TokenDataFinding
        do throws(KeychainError) { finding = try read(object, &state) } catch {
            guard error.failure == .loginRequired, try presentAgain(for: [object], &state) else { throw error }
            finding = try read(object, &state)
        }
        guard let content = learn(finding, of: object, &state) else {
            throw KeychainError(.itemNotFound, "the card no longer has it")
        }
        return content
    }

    private func read(_ object: TokenDataObject, _ state: inout State) throws(KeychainError) -> TokenDataFinding {
        try reading(&state) { (insertion) throws(TokenError) in
            try slot.content(of: object.id, at: insertion).map { .whole($0) } ?? .absent
        }
    }

    // MARK: Looking

    private func look(for objects: [TokenDataObject], _ state: inout State) throws(KeychainError) {
        guard !objects.isEmpty else { return }
        var locked = try findings(of: objects, &state)
        do throws(KeychainError) {
            if try presentAgain(for: locked, &state) { locked = try findings(of: locked, &state) }
        } catch {
            // The login ended during the search, which shows the objects that are visible without it.
            guard error.failure == .loginRequired else { throw error }
            return
        }
        for object in locked { _ = learn(.absent, of: object, &state) }
    }

    /// Looks for each of the objects.
    ///
    /// - Returns: the objects that need the PIN first.
    private func findings(
        of objects: [TokenDataObject], _ state: inout State
    ) throws(KeychainError) -> [TokenDataObject] {
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
    private func presentAgain(for objects: [TokenDataObject], _ state: inout State) throws(KeychainError) -> Bool {
        guard objects.contains(where: \.needsPIN), let pin = loginPIN() else { return false }
        do throws(KeychainError) { try verify(pin, &state) } catch { throw refused(error, &state) }
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
