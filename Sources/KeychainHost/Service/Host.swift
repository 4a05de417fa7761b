public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes
internal import SystemCrypto
package import TokenKit

/// The host as one client sees it: its face over the keychains of a process.
///
/// Each request sees the search list and the readers as they are then. What was unlocked or verified stays so from request to request,
/// since ``ProcessKeychains`` keeps it.
public final class Host: KeychainService {
    let keychains: any HostedKeychains
    /// The client's access groups, and the roots that it trusts.
    let client: SearchClient
    /// Asks where a request leaves questions to the host.
    let prompter: any Prompter
    /// Asks where a request leaves questions to its client.
    private let clientPrompter: any Prompter
    /// The way to a person's permission for what the client's program does; nil where none is wanted.
    let permission: Permission?
    let requests: RequestTable
    let contexts: AuthenticationTable
    private let subscriptions: EventSubscriptions
    let placeTable: PlaceTable
    let knownCards: KnownCards?
    /// Reports the events of readers until its monitor is cancelled, on the thread of the request.
    let watchReaders: ReaderWatch
    let process: HostProcess
    /// The journal of the process, for this client's uses of keys, passwords and logins.
    let journal: ClientJournal
    /// The notices at the desktop about what this client does; nil for none.
    let notices: ClientNotices?

    /// - Parameters:
    ///   - accessGroups: the groups that are open to the client.
    ///   - trustAnchors: the roots for searches for trusted certificates.
    ///   - prompter: asks where a request leaves questions to the host.
    public convenience init(
        _ keychains: ProcessKeychains, accessGroups: AccessGroups = .configured, trustAnchors: TrustAnchors = .system,
        prompter: any Prompter
    ) {
        self.init(
            keychains, accessGroups: accessGroups, trustAnchors: trustAnchors, prompter: prompter, in: HostProcess(),
            for: .ofThisProcess)
    }

    /// - Parameters:
    ///   - process: the process that serves the client.
    ///   - program: the client's program.
    package convenience init(
        _ keychains: ProcessKeychains, accessGroups: AccessGroups, trustAnchors: TrustAnchors,
        prompter: any Prompter, in process: HostProcess, for program: HostStatus.Client
    ) {
        self.init(
            of: keychains, for: SearchClient(accessGroups: accessGroups, trustAnchors: trustAnchors),
            prompter: prompter, in: process, for: program)
    }

    /// Makes the host of a client that uses tokens by PKCS #11, to whom all access groups are open.
    ///
    /// - Parameters:
    ///   - prompter: asks for logins without a PIN; nil for the keys of readers alone.
    ///   - touchPrompter: tells a person to touch a card; nil for nobody.
    ///   - knownCards: the facts that all clients of the process have read of cards; nil for a process of one client.
    ///   - process: the process that serves the client.
    ///   - program: the client's program; nil for this one.
    ///   - log: is told what happens to logins. No line has a PIN.
    package convenience init(
        forTokensOf keychains: ProcessKeychains, prompter: (any Prompter)?, touchPrompter: (any Prompter)?,
        knownCards: KnownCards? = nil, in process: HostProcess = HostProcess(), for program: HostStatus.Client? = nil,
        watchingReaders watch: @escaping ReaderWatch = { $0.run($1) },
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let prompter: any Prompter = prompter ?? NoPrompter(allowsPINPad: true)
        self.init(
            of: keychains, for: SearchClient(accessGroups: .all), prompter: prompter, touchPrompter: touchPrompter,
            knownCards: knownCards, in: process, for: program, watchingReaders: watch, log: log)
    }

    /// Makes the host of a client that has the tokens of modules alone.
    ///
    /// - Parameter prompter: asks for PINs; nil for nobody.
    package convenience init(
        forModulesOf keychains: ProcessKeychains, prompter: (any Prompter)?, in process: HostProcess = HostProcess(),
        for program: HostStatus.Client? = nil
    ) {
        self.init(
            of: ModuleTokens(process: keychains), for: SearchClient(accessGroups: .all),
            prompter: prompter ?? NoPrompter(), in: process, for: program)
    }

    init(
        of keychains: any HostedKeychains, for client: SearchClient, prompter: any Prompter,
        touchPrompter: (any Prompter)? = nil, knownCards: KnownCards? = nil, in process: HostProcess = HostProcess(),
        for program: HostStatus.Client? = nil, watchingReaders watch: @escaping ReaderWatch = { $0.run($1) },
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.keychains = keychains
        self.process = process
        journal = ClientJournal(process.journal, of: program ?? .ofThisProcess)
        notices = process.notices(of: program ?? .ofThisProcess)
        self.client = client
        self.prompter = prompter
        (clientPrompter, permission) = (NoPrompter(), nil)
        requests = RequestTable()
        contexts = AuthenticationTable()
        subscriptions = EventSubscriptions { topic in
            switch topic {
            case .keychains: keychains.watch()
            case .readers: ReaderEventSource(watch) { keychains.newSlot(reader: $0) }
            }
        }
        watchReaders = watch
        let touchPrompter: any Prompter = touchPrompter ?? NoPrompter()
        self.knownCards = knownCards
        placeTable = PlaceTable(keychains) { CardPlace($0, knownCards, touchPrompter, log: log) }
    }

    private init(_ host: Host, asking person: any Prompter, for permission: Permission?) {
        (keychains, client, prompter, clientPrompter) = (host.keychains, host.client, host.prompter, person)
        self.permission = permission
        (requests, contexts, subscriptions) = (host.requests, host.contexts, host.subscriptions)
        (placeTable, watchReaders, knownCards) = (host.placeTable, host.watchReaders, host.knownCards)
        (process, journal, notices) = (host.process, host.journal, host.notices)
    }

    /// The host for requests whose client asks this person. All else is shared with this host.
    package func asking(_ person: any Prompter) -> Host { Host(self, asking: person, for: permission) }

    /// The host for a client whose program a person has to allow the use of keys whose PIN another client has given.
    package func asking(for permission: Permission) -> Host { Host(self, asking: clientPrompter, for: permission) }

    package typealias ReaderWatch = @Sendable (ReaderMonitor, (ReaderEvent) -> Void) -> Void

    // MARK: Requests

    /// The keychains of a request, with its ticket and its purpose.
    struct Visit {
        let session: KeychainSession
        let ticket: RequestTicket
        let purpose: String?

        func use(_ standard: LocalizedText) -> String { purpose ?? String(localized: standard) }
    }

    /// Answers a request. Where it waits for a card, its client is told.
    func run<Result: Sendable>(
        _ context: RequestContext, _ body: (RequestTicket) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        guard !(clientPrompter is NoPrompter) else { return try requests.run(context, body) }
        let notice: TokenSlot.WaitNotice = { [clientPrompter] reader in WaitMessage.begin(reader, clientPrompter) }
        return try TokenSlot.telling(ofWaits: notice) { () throws(KeychainError) in try requests.run(context, body) }
    }

    /// - Parameter token: true for a request about something on a token, false for one about something in a file; nil for either.
    func visit<Result: Sendable>(
        _ context: RequestContext, onToken token: Bool? = nil, _ body: (Visit) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        try run(context) { ticket throws(KeychainError) in
            let authentication = try authentication(context, ticket)
            let session =
                if let place = context.place {
                    try session(at: place, authentication)
                } else {
                    try keychains.session(
                        cards: token ?? true, locals: !(token ?? false), for: client, authentication: authentication)
                }
            try session.checkEntitled()
            return try body(Visit(session: session, ticket: ticket, purpose: context.purpose))
        }
    }

    /// The groups that are open to the client.
    var accessGroups: AccessGroups { client.accessGroups ?? .all }

    /// The keychain of one place, as if there were no other.
    private func session(
        at location: String, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession {
        let keychain = try placeTable.place(at: location).keychain
        return KeychainSession(
            searchList: SearchList(members: [keychain]), defaultKeychain: keychain,
            accessGroups: accessGroups, authentication: authentication,
            trustAnchors: client.trustAnchors)
    }

    /// The authentication context of a request, whose questions end with it.
    ///
    /// - Throws: `errSecAllocate` where the client has too many.
    func authentication(
        _ context: RequestContext, _ ticket: RequestTicket
    ) throws(KeychainError) -> AuthenticationContext {
        let prompter: any Prompter =
            switch context.questions {
            case .never: NoPrompter(alternative: self.prompter.alternative)
            case .byHost: self.prompter
            case .byClient: clientPrompter
            }
        let kept = try contexts.context(of: context) {
            let made =
                context.place == nil ? keychains.authentication(NoPrompter(), lastTry: .keep) : AuthenticationContext()
            return made.rememberingPresence()
        }
        return kept.asking(
            TicketPrompter(ticket: ticket, prompter: prompter, journal: journal),
            lastTry: context.mayUseLastTry ? .spend : .keep
        ).during(ticket, for: permission?.during(ticket, for: context.purpose, journal), notices)
    }

    public func usableCredentials(_ context: RequestContext) throws(KeychainError) -> [CredentialKind] {
        try run(context) { ticket throws(KeychainError) in
            let authentication = try authentication(context, ticket)
            return CredentialKind.allCases.filter { authentication.hasCredential($0) }
        }
    }

    public func endAuthentication(
        _ number: AuthenticationNumber, _ context: RequestContext
    ) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in contexts.end(number) }
    }

    public func cancel(_ request: RequestNumber) { requests.cancel(request) }

    // MARK: Searching

    public func keychains(
        _ kinds: KeychainDescription.Kinds, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        let looksIntoReaders = !kinds.isDisjoint(with: .tokens)
        let isOnToken: Bool? = kinds.contains(.files) && looksIntoReaders ? nil : looksIntoReaders
        return try visit(context, onToken: isOnToken) { visit throws(KeychainError) in
            visit.session.descriptions(kinds)
        }
    }

    public func keychain(
        _ identifier: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        // Modules may show a card as well, and a driver remembers a card that is in no reader.
        try visit(context, onToken: !identifier.isLocal) { visit throws(KeychainError) in
            try visit.session.details(of: identifier)
        }
    }

    public func explain(
        _ query: Query, readingSecrets readsSecrets: Bool, _ context: RequestContext
    ) throws(KeychainError) -> Explanation {
        try visit(context) { visit throws(KeychainError) in
            try visit.session.explain(query, readingSecrets: readsSecrets)
        }
    }

    public func items(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Item]> {
        // No card has passwords: readers are not looked into.
        try visit(context, onToken: query.itemClass.isPassword ? false : nil) { visit throws(KeychainError) in
            try visit.session.items(matching: query)
        }
    }

    public func damage(matching query: Query, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        try visit(context, onToken: false) { visit throws(KeychainError) in try visit.session.damage(matching: query) }
    }

    public func identities(
        matching query: Query, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Identity]> {
        try visit(context) { visit throws(KeychainError) in try visit.session.identities(matching: query) }
    }

    public func secret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        if let place = context.place, item.tokenID != nil {
            return try visit(place: place, context) { (place, _, _) throws(KeychainError) in
                try place.content(of: item)
            }
        }
        return try visit(context, onToken: item.tokenID != nil) { visit throws(KeychainError) in
            try secret(of: visit.session.item(item), in: visit)
        }
    }

    /// The secret of an item that was found for the same request.
    func secret(of item: Item, in visit: Visit) throws(KeychainError) -> SharedSecret? {
        if let refusal = item.itemClass.refusalToLeave(item.attributes) { throw refusal }
        let use = visit.use("read \(item.itemClass.anyNoun)")
        let keychain = try visit.session.keychain(of: item)
        return try journal.noting(.read, item.journalName, of: keychain.name) { () throws(KeychainError) in
            SharedSecret(ifAny: try keychain.secret(of: item, use: use, authentication: visit.session.authentication))
        }
    }

    public func storedSecret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        guard item.tokenID == nil else {
            throw KeychainError(.param, "the item is on a token, which tells no secret", remedy: "name one in a file")
        }
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = try visit.session.keychain(of: visit.session.item(item)) as? LocalKeychain
            return try file?.sealedSecret(of: item).map { SharedSecret(Secret(copying: $0.span)) }
        }
    }

    // MARK: Changing

    public func change(_ steps: [ChangeStep], _ context: RequestContext) throws(KeychainError) -> Outcome<ChangeResult>
    {
        try visit(context) { visit throws(KeychainError) in
            let session = visit.session
            var planned: [PlannedStep] = []
            for step in steps { planned.append(try session.plan(step, purpose: visit.purpose)) }
            try visit.ticket.check()
            let results: [KeychainStep.Result]
            do throws(KeychainError) {
                results = try session.change(planned.flatMap(\.steps), authentication: session.authentication) {
                    (results) throws(KeychainError) in
                    if results.contains(where: { $0.count == 0 }) { throw KeychainError(.itemNotFound) }
                }
            } catch {
                guard error.code == .itemNotFound else { throw error }
                throw try session.reason(notFoundBy: steps.compactMap(\.query))
            }
            for case .added(let item) in results {
                guard let keychain = try? session.keychain(of: item) as? LocalKeychain else { continue }
                session.authentication.noteCreated(item, in: keychain)
            }
            var outcome = Outcome(ChangeResult(results, of: planned))
            for query in steps.compactMap(\.query) {
                outcome.add(missing: session.searchList(for: query).missing + session.absentKeychains(query))
                outcome.add(missing: try session.damage(matching: query))
            }
            return outcome
        }
    }

    // MARK: Events

    public func events(
        of topic: EventTopic, after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage {
        try run(context) { ticket throws(KeychainError) in
            let (number, subscription) = try subscriptions.subscription(to: topic, at: position)
            let page = try subscription.page(after: position?.number ?? 0, waiting: patience, ticket)
            return EventPage(
                page.events, next: EventPosition(subscription: number, number: page.next),
                isIncomplete: page.isIncomplete)
        }
    }

    public func endEvents(at position: EventPosition, _ context: RequestContext) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in subscriptions.end(at: position) }
    }
}
