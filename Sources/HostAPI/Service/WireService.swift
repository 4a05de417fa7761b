package import KeychainModel
package import SecureBytes
package import SystemCrypto
internal import Wire

/// The face of a host that is reached by messages.
///
/// Each function is one request; an answer of another kind than the request's is an error, since a host is trusted no more than any other
/// process.
package struct WireService: KeychainService {
    /// Carries a request to the host, and its answer back.
    package typealias Exchange = @Sendable (_ request: MessageWriter) throws(KeychainError) -> HostAnswer

    private let exchange: Exchange
    private let tellOfCancellation: @Sendable (RequestNumber) -> Void

    package init(
        cancelling tellOfCancellation: @escaping @Sendable (RequestNumber) -> Void = { _ in },
        exchange: @escaping Exchange
    ) {
        self.exchange = exchange
        self.tellOfCancellation = tellOfCancellation
    }

    func send<Value>(
        _ request: HostRequest, _ context: RequestContext, _ value: (HostAnswer) -> Value?
    ) throws(KeychainError) -> Value {
        let answer = try exchange(request.message(context))
        if case .failed(let error) = answer { throw error }
        guard let value = value(answer) else {
            throw KeychainError(.internal, "the host answers something that was not asked for")
        }
        return value
    }

    package func keychains(
        _ kinds: KeychainDescription.Kinds, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        try send(.keychains(kinds), context) { if case .keychains(let outcome) = $0 { outcome } else { nil } }
    }

    package func keychain(
        _ identifier: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.keychain(identifier), context) { if case .keychain(let details) = $0 { details } else { nil } }
    }

    package func items(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Item]> {
        try send(.items(query), context) { if case .items(let outcome) = $0 { outcome } else { nil } }
    }

    package func identities(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<
        [Identity]
    > {
        try send(.identities(query), context) { if case .identities(let outcome) = $0 { outcome } else { nil } }
    }

    package func explain(
        _ query: Query, readingSecrets readsSecrets: Bool, _ context: RequestContext
    ) throws(KeychainError) -> Explanation {
        try send(.explain(query, readingSecrets: readsSecrets), context) {
            if case .explanation(let explanation) = $0 { explanation } else { nil }
        }
    }

    package func secret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        try send(.secret(item), context) { if case .secret(let secret) = $0 { .some(secret) } else { nil } }
    }

    package func change(_ steps: [ChangeStep], _ context: RequestContext) throws(KeychainError) -> Outcome<ChangeResult>
    {
        try send(.change(steps), context) { if case .changed(let outcome) = $0 { outcome } else { nil } }
    }

    package func perform(_ operation: KeyRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        try send(.perform(operation), context) { if case .secret(let result?) = $0 { result } else { nil } }
    }

    package func keys(
        matching query: KeyQuery, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeyDescription]> {
        try send(.keys(query), context) { if case .keys(let outcome) = $0 { outcome } else { nil } }
    }

    package func askAhead(of action: GuardedAction, _ context: RequestContext) throws(KeychainError) {
        try send(.askAhead(of: action), context) { if case .done = $0 { () } else { nil } }
    }

    package func vouching(
        for item: PersistentReference, with der: [UInt8], _ context: RequestContext
    ) throws(KeychainError) -> Vouching {
        try send(.vouching(for: item, with: der), context) {
            if case .vouching(let vouching) = $0 { vouching } else { nil }
        }
    }

    package func damage(matching query: Query, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        try send(.damage(query), context) { if case .damage(let missing) = $0 { missing } else { nil } }
    }

    package func storedSecret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        try send(.storedSecret(of: item), context) { if case .secret(let secret) = $0 { .some(secret) } else { nil } }
    }

    package func isSupported(
        _ algorithm: KeyAlgorithm, for operation: KeyOperation, by key: KeyRequest.Key, _ context: RequestContext
    ) throws(KeychainError) -> Bool {
        try send(.isSupported(algorithm, for: operation, by: key), context) {
            if case .supported(let isSupported) = $0 { isSupported } else { nil }
        }
    }

    package func unlock(
        _ keychain: KeychainIdentifier, for seconds: UInt32?, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.unlock(keychain, for: seconds), context) { if case .done = $0 { () } else { nil } }
    }

    package func lock(_ keychain: KeychainIdentifier?, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        try send(.lock(keychain), context) { if case .locked(let missing) = $0 { missing } else { nil } }
    }

    package func administer(
        _ keychain: KeychainIdentifier, _ administration: CardAdministration, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.administer(keychain, administration), context) { if case .done = $0 { () } else { nil } }
    }

    package func events(
        of topic: EventTopic, after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage {
        try send(.events(of: topic, after: position, waiting: patience), context) {
            if case .events(let page) = $0 { page } else { nil }
        }
    }

    package func endEvents(at position: EventPosition, _ context: RequestContext) throws(KeychainError) {
        try send(.endEvents(at: position), context) { if case .done = $0 { () } else { nil } }
    }

    package func usableCredentials(_ context: RequestContext) throws(KeychainError) -> [CredentialKind] {
        try send(.usableCredentials, context) { if case .credentials(let kinds) = $0 { kinds } else { nil } }
    }

    package func endAuthentication(
        _ number: AuthenticationNumber, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.endAuthentication(number), context) { if case .done = $0 { () } else { nil } }
    }

    package func path(ofKeychain name: String, _ context: RequestContext) throws(KeychainError) -> String {
        try send(.path(ofKeychain: name), context) { if case .path(let path) = $0 { path } else { nil } }
    }

    package func openKeychain(
        at path: String?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.openKeychain(at: path), context) { if case .keychain(let details) = $0 { details } else { nil } }
    }

    package func createKeychain(
        _ name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.createKeychain(name, password: password), context) {
            if case .keychain(let details) = $0 { details } else { nil }
        }
    }

    package func deleteKeychain(_ name: String, _ context: RequestContext) throws(KeychainError) {
        try send(.deleteKeychain(name), context) { if case .done = $0 { () } else { nil } }
    }

    package func configure(
        _ keychain: KeychainIdentifier, _ settings: KeychainSettings, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.configure(keychain, settings), context) { if case .done = $0 { () } else { nil } }
    }

    package func keychainChoice(
        in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainChoice {
        try send(.keychainChoice(in: domain), context) { if case .choice(let choice) = $0 { choice } else { nil } }
    }

    package func choose(
        _ change: KeychainChoice.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.choose(change, in: domain), context) { if case .done = $0 { () } else { nil } }
    }

    package func changePassword(
        of keychain: KeychainIdentifier, from old: SharedSecret?, to new: SharedSecret?, renewingKey renewsKey: Bool,
        _ context: RequestContext
    ) throws(KeychainError) -> PasswordChange {
        try send(.changePassword(of: keychain, from: old, to: new, renewingKey: renewsKey), context) {
            if case .passwordChange(let change) = $0 { change } else { nil }
        }
    }

    package func bind(
        _ keychain: KeychainIdentifier, to card: KeychainIdentifier, key: String?, _ context: RequestContext
    ) throws(KeychainError) -> BoundCard {
        try send(.bind(keychain, to: card, key: key), context) {
            if case .boundCards(let cards) = $0, cards.count == 1 { cards.first } else { nil }
        }
    }

    package func unbind(
        _ keychain: KeychainIdentifier, from card: KeychainIdentifier?, _ context: RequestContext
    ) throws(KeychainError) -> [BoundCard] {
        try send(.unbind(keychain, from: card), context) { if case .boundCards(let cards) = $0 { cards } else { nil } }
    }

    package func backUp(
        _ keychain: KeychainIdentifier, to path: String, _ context: RequestContext
    ) throws(KeychainError) -> BackupCount {
        try send(.backUp(keychain, to: path), context) { if case .backup(let count) = $0 { count } else { nil } }
    }

    package func restoreKeychain(
        from backup: String, as name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.restoreKeychain(from: backup, as: name, password: password), context) {
            if case .keychain(let details) = $0 { details } else { nil }
        }
    }

    package func presenceProof(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> PresenceProof {
        try send(.presenceProof(keychain), context) { if case .presenceProof(let proof) = $0 { proof } else { nil } }
    }

    package func confirmPresence(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.confirmPresence(keychain), context) { if case .done = $0 { () } else { nil } }
    }

    package func trustedRoots(_ context: RequestContext) throws(KeychainError) -> [Certificate] {
        try send(.trustedRoots, context) { if case .certificates(let roots) = $0 { roots } else { nil } }
    }

    package func judge(
        _ request: ChainRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<CertificateChain.Outcome> {
        try send(.judge(request), context) { if case .verdict(let outcome) = $0 { outcome } else { nil } }
    }

    package func importFile(
        _ request: ImportRequest, _ context: RequestContext
    ) throws(KeychainError) -> ImportedContent {
        try send(.importFile(request), context) { if case .imported(let content) = $0 { content } else { nil } }
    }

    package func exportFile(_ request: ExportRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        try send(.exportFile(request), context) { if case .secret(let file?) = $0 { file } else { nil } }
    }

    package func places(_ context: RequestContext) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try send(.places, context) { if case .places(let outcome) = $0 { outcome } else { nil } }
    }

    package func awaitPlaces(
        otherThan known: [TokenPlace], _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try send(.awaitPlaces(otherThan: known), context) { if case .places(let outcome) = $0 { outcome } else { nil } }
    }

    package func token(
        in place: String, telling facts: TokenFacts, _ context: RequestContext
    ) throws(KeychainError) -> TokenDescription {
        try send(.token(in: place, telling: facts), context) {
            if case .token(let description) = $0 { description } else { nil }
        }
    }

    package func tokenItems(
        in place: String, _ selection: TokenItemSelection, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Item]> {
        try send(.tokenItems(in: place, selection), context) {
            if case .items(let outcome) = $0 { outcome } else { nil }
        }
    }

    package func logIn(
        to place: String, forOneUse isForOneUse: Bool, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.logIn(to: place, forOneUse: isForOneUse), context) { if case .done = $0 { () } else { nil } }
    }

    package func logOut(of place: String, _ context: RequestContext) throws(KeychainError) {
        try send(.logOut(of: place), context) { if case .done = $0 { () } else { nil } }
    }

    package func changePIN(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.changePIN(of: place, from: old, to: new), context) { if case .done = $0 { () } else { nil } }
    }

    package func cancel(_ request: RequestNumber) { tellOfCancellation(request) }
}
