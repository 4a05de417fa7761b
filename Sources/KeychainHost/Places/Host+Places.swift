internal import Localization
internal import Platform
public import HostAPI
public import KeychainModel
public import SecureBytes
internal import SystemCrypto
internal import TokenKit

// Tokens as PKCS #11 has them: places, logins of one client, and the items of a token as it was read.
extension Host {
    public func places(_ context: RequestContext) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try run(context) { _ throws(KeychainError) in presentPlaces() }
    }

    private func presentPlaces() -> Outcome<[TokenPlace]> {
        let present = placeTable.present()
        return Outcome(present.found.map(\.place), missing: present.missing)
    }

    public func awaitPlaces(
        otherThan known: [TokenPlace], _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try run(context) { ticket throws(KeychainError) in
            let monitor = ReaderMonitor()
            ticket.whenCancelled { monitor.cancel() }
            let end = ticket.end.map { end in
                DelayedActions.shared.begin(after: ContinuousClock.now.duration(to: end)) {
                    monitor.cancel()
                    return nil
                }
            }
            defer { if let end { DelayedActions.shared.end(end) } }
            var present = presentPlaces()
            guard present.found == known else { return present }
            watchReaders(monitor) { _ in
                // Simultaneous events come one by one, even after the monitor was cancelled.
                guard present.found == known else { return }
                present = presentPlaces()
                if present.found != known { monitor.cancel() }
            }
            try ticket.check()
            return present
        }
    }

    public func token(
        in place: String, telling facts: TokenFacts, _ context: RequestContext
    ) throws(KeychainError) -> TokenDescription {
        try run(context) { _ throws(KeychainError) in
            let place = try placeTable.place(at: place)
            var description = try place.describe(facts)
            if description.pin?.canAsk == false {
                // With a PIN that another client gave, a login without one succeeds as one that is typed on a reader does.
                description.pin?.canAsk = prompter.canAsk || (place.hasKeptPIN && permission?.canAsk != false)
            }
            return description
        }
    }

    public func tokenItems(
        in place: String, _ selection: TokenItemSelection, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Item]> {
        try run(context) { _ throws(KeychainError) in
            var outcome = try placeTable.place(at: place).items(selection)
            outcome.found.removeAll { !accessGroups.allow($0) }
            notices?.look(at: outcome.found)
            return outcome
        }
    }

    public func logIn(
        to place: String, forOneUse isForOneUse: Bool, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(place: place, context) { (place, ticket, authentication) throws(KeychainError) in
            try journal.noting(.logIn, nil, of: place.place.name) { () throws(KeychainError) in
                if isForOneUse {
                    try place.logInForOneUse(
                        use: context.purpose ?? String(localized: "use the key once"), authentication)
                } else {
                    try place.logIn(use: context.purpose ?? String(localized: "log in"), authentication)
                }
            }
        }
    }

    public func logOut(of place: String, _ context: RequestContext) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in
            let place = try placeTable.place(at: place)
            let isLoggedIn = place.login != nil
            place.logOut()
            if isLoggedIn { journal.note(.logOut, nil, of: place.place.name) }
        }
    }

    public func changePIN(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in
            let place = try placeTable.place(at: place)
            try journal.noting(.changePIN, nil, of: place.place.name) { () throws(KeychainError) in
                try place.changePIN(from: old.secret.clone(), to: new.secret.clone())
            }
        }
    }

    /// Runs `body` for a request about one place, with the context that asks for it. Other readers and files are not looked into.
    func visit<Result: Sendable>(
        place: String, _ context: RequestContext,
        _ body: (any HostedPlace, RequestTicket, AuthenticationContext) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try run(context) { ticket throws(KeychainError) in
            let place = try placeTable.place(at: place)
            return try body(place, ticket, authentication(context, ticket))
        }
    }
}

extension Host: InProcessHost {
    package func keyBytes(
        of key: PersistentReference, in place: String, for use: AccessQuestion.Use, _ context: RequestContext
    ) throws(KeychainError) -> Secret {
        let bytes = try visit(place: place, context) { (place, _, authentication) throws(KeychainError) in
            guard let file = place as? FilePlace else {
                throw KeychainError(.itemNotFound, "there are no secret keys on a card", failure: .noKey)
            }
            let symmetric = try file.symmetricKey(key)
            return try journal.noting(.use, symmetric.label, of: symmetric.keychainName) { () throws(KeychainError) in
                SharedSecret(
                    try symmetric.material(
                        for: use, use: context.purpose ?? String(localized: "use the key"),
                        authentication: authentication))
            }
        }
        return bytes.secret.clone()
    }

    package func logInAsAdministrator(
        to place: String, _ key: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(place: place, context) { (place, _, authentication) throws(KeychainError) in
            try journal.noting(.logIn, nil, of: place.place.name) { () throws(KeychainError) in
                try place.logInAsAdministrator(key, authentication)
            }
        }
    }

    package func keyPlaces(
        in place: String, _ context: RequestContext
    ) throws(KeychainError) -> [AdministeredKeyPlace] {
        try visit(place: place, context) { (place, _, authentication) throws(KeychainError) in
            try place.keyPlaces(authentication)
        }
    }

    package func change(
        _ change: CardChange, in place: String, _ context: RequestContext
    ) throws(KeychainError) -> CardChangeOutcome {
        try visit(place: place, context) { (place, _, authentication) throws(KeychainError) in
            try journal.noting(.administer, change.slot, of: place.place.name) { () throws(KeychainError) in
                try place.change(change, authentication)
            }
        }
    }

    package func changeManagementKey(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in
            let place = try placeTable.place(at: place)
            try journal.noting(.administer, nil, of: place.place.name) { () throws(KeychainError) in
                try place.changeManagementKey(from: old.secret, to: new.secret)
            }
        }
    }

    package func initializePIN(
        of place: String, to new: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(place: place, context) { (place, _, authentication) throws(KeychainError) in
            try journal.noting(.unblockPIN, nil, of: place.place.name) { () throws(KeychainError) in
                try place.initializePIN(to: new, authentication)
            }
        }
    }

    package func state(of place: String) throws(KeychainError) -> any PlaceState { try placeTable.place(at: place) }

    package func end() {
        requests.end()
        contexts.endAll()
        placeTable.letGo()
        keychains.letGo()
    }
}
