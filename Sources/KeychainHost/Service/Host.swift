public import HostAPI
public import KeychainModel
public import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The host as one client sees it: its face over the keychains of a process.
///
/// Each request sees the search list and the readers as they are then. What was unlocked or verified stays so from request to request,
/// since ``ProcessKeychains`` keeps it.
public final class Host: KeychainService {
    private let process: ProcessKeychains
    private let accessGroups: AccessGroups
    private let trustAnchors: TrustAnchors
    /// Asks questions of the host.
    private let prompter: any Prompter
    /// Has the client ask.
    private let clientPrompter: any Prompter
    private let requests = RequestTable()
    private let subscriptions: EventSubscriptions

    /// - Parameters:
    ///   - accessGroups: the groups that are open to the client.
    ///   - trustAnchors: the roots for searches for trusted certificates.
    ///   - prompter: asks where a request leaves questions to the host.
    ///   - clientPrompter: asks where a request leaves questions to its client.
    public init(
        _ process: ProcessKeychains, accessGroups: AccessGroups = .configured, trustAnchors: TrustAnchors = .system,
        prompter: any Prompter = FirstAvailablePrompter.standard(), clientPrompter: any Prompter = NoPrompter()
    ) {
        self.process = process
        self.accessGroups = accessGroups
        self.trustAnchors = trustAnchors
        self.prompter = prompter
        self.clientPrompter = clientPrompter
        subscriptions = EventSubscriptions { [process] in
            KeychainWatch(process.preferences) { process.slot(of: PCSCReader(name: $0)) }
        }
    }

    // MARK: Requests

    /// A request's way to the keychains.
    private struct Visit {
        let present: PresentKeychains
        let session: KeychainSession
        let ticket: RequestTicket
        let purpose: String?

        func use(_ standard: String) -> String { purpose ?? standard }
    }

    /// - Parameter token: whether the request is about something on a token, or in a file; nil for either.
    private func visit<Result: Sendable>(
        _ context: RequestContext, onToken token: Bool? = nil, _ body: (Visit) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try requests.run(context) { ticket throws(KeychainError) in
            let present = try process.present(cards: token ?? true, locals: !(token ?? false))
            let session = present.session(
                accessGroups: accessGroups, authentication: authentication(context, ticket), trustAnchors: trustAnchors)
            try session.checkEntitled()
            return try body(Visit(present: present, session: session, ticket: ticket, purpose: context.purpose))
        }
    }

    private func authentication(_ context: RequestContext, _ ticket: RequestTicket) -> AuthenticationContext {
        let prompter: any Prompter =
            switch context.questions {
            case .never: NoPrompter(alternative: self.prompter.alternative)
            case .byHost: self.prompter
            case .byClient: clientPrompter
            }
        let authentication = process.authentication(
            TicketPrompter(ticket: ticket, prompter: prompter), lastTry: context.mayUseLastTry ? .spend : .keep)
        for credential in context.credentials {
            authentication.setCredential(credential.secret.secret.clone(), credential.kind)
        }
        return authentication.rememberingPresence()
    }

    public func cancel(_ request: RequestNumber) { requests.cancel(request) }

    // MARK: Searching

    public func keychains(_ context: RequestContext) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        try visit(context) { visit throws(KeychainError) in try visit.present.descriptions() }
    }

    public func items(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Item]> {
        try visit(context) { visit throws(KeychainError) in
            var outcome = try visit.session.searchList(for: query).items(matching: query, for: visit.session.client)
            if outcome.found.isEmpty { outcome.add(missing: visit.session.absentCards(query)) }
            return outcome
        }
    }

    public func identities(
        matching query: Query, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Identity]> {
        try visit(context) { visit throws(KeychainError) in
            let list = visit.session.searchList(for: query)
            var outcome = try list.identities(matching: query, for: visit.session.client)
            if outcome.found.isEmpty { outcome.add(missing: visit.session.absentCards(query)) }
            return outcome
        }
    }

    public func secret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        try visit(context, onToken: item.tokenID != nil) { visit throws(KeychainError) in
            let item = try visit.session.item(item)
            let use = visit.use("read \(item.itemClass.anyNoun)")
            switch try visit.session.secret(of: item, use: use) {
            case .some(let secret): return SharedSecret(secret)
            case .none: return nil
            }
        }
    }

    // MARK: Changing

    public func change(_ steps: [ChangeStep], _ context: RequestContext) throws(KeychainError) -> Outcome<ChangeResult>
    {
        try visit(context) { visit throws(KeychainError) in
            let session = visit.session
            var planned: [SearchList.Step] = []
            for step in steps { planned.append(try session.step(step, purpose: visit.purpose)) }
            try visit.ticket.check()
            let results: [KeychainStep.Result]
            do throws(KeychainError) {
                results = try session.change(planned, authentication: session.authentication) {
                    (results) throws(KeychainError) in
                    if results.contains(where: { $0.count == 0 }) { throw KeychainError(.itemNotFound) }
                }
            } catch {
                guard error.code == .itemNotFound else { throw error }
                throw try session.reason(notFoundBy: steps.compactMap(\.query))
            }
            var outcome = Outcome(ChangeResult(results, of: steps))
            for query in steps.compactMap(\.query) {
                outcome.add(missing: session.searchList(for: query).missing)
                outcome.add(missing: try session.damage(matching: query))
            }
            return outcome
        }
    }

    // MARK: Using keys

    public func perform(_ request: KeyRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        // An identity on a card may have its key in a file, and the other way round.
        let isOnToken = request.key.itemClass == .key ? request.key.tokenID != nil : nil
        return try visit(context, onToken: isOnToken) { visit throws(KeychainError) in
            let item = try visit.session.keyItem(request.key)
            let authentication = visit.session.authentication
            try visit.ticket.check()
            guard item.isSymmetricKey else {
                return try visit.session.key(of: item).perform(request, visit.use(request.use), authentication)
            }
            return try visit.session.symmetricKey(of: item).perform(request, visit.use(request.use), authentication)
        }
    }

    // MARK: Locking

    public func unlock(_ keychain: KeychainIdentifier, _ context: RequestContext) throws(KeychainError) {
        try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
            let authentication = visit.session.authentication
            if let token = visit.present.token(keychain) {
                guard try !token.isUnlocked() else { return }
                return try token.verifyPIN(use: visit.use("log in"), authentication: authentication)
            }
            try visit.present.local(keychain).unlock(use: visit.use("unlock it"), authentication: authentication)
        }
    }

    public func lock(_ keychain: KeychainIdentifier?, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        guard let keychain else { return try lockAll(context) }
        return try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
            if let token = visit.present.token(keychain) {
                try token.logOut()
            } else {
                try visit.present.local(keychain).lockEverywhere()
            }
            return []
        }
    }

    private func lockAll(_ context: RequestContext) throws(KeychainError) -> [Missing] {
        try visit(context) { visit throws(KeychainError) in
            var missing = try process.lockAll().missing
            for token in visit.present.tokens where (try? token.isUnlocked()) == true {
                do throws(KeychainError) { try token.logOut() } catch { missing.append(token.missing(error)) }
            }
            return missing
        }
    }

    public func administer(
        _ keychain: KeychainIdentifier, _ administration: CardAdministration, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let authentication = visit.session.authentication
            guard let token = visit.present.token(keychain) else {
                guard keychain.isLocal else { throw .noSuchKeychain(keychain) }
                throw KeychainError(.param, "the keychain is a file, and not a card", remedy: "name a card")
            }
            switch administration {
            case .changePIN: try token.change(.pin, authentication: authentication)
            case .changeUnblockingKey: try token.change(.unblockingKey, authentication: authentication)
            case .unblockPIN: try token.unblock(authentication: authentication)
            }
        }
    }

    // MARK: Events

    public func events(
        after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage {
        try requests.run(context) { ticket throws(KeychainError) in
            let (number, subscription) = try subscriptions.subscription(at: position)
            let (events, next) = try subscription.events(after: position?.number ?? 0, waiting: patience, ticket)
            return EventPage(events, next: EventPosition(subscription: number, number: next))
        }
    }
}
