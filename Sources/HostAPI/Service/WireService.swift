package import KeychainModel
internal import Localization
package import SecureBytes
package import SystemCrypto
internal import Platform

/// The face of a host that is reached by messages.
///
/// Each function is one request; an answer of another kind than the request's is an error, since a host is trusted no more than any other
/// process.
package struct WireService: KeychainService {
    /// Carries a request to the host, and its answer back.
    package typealias Exchange = @Sendable (HostRequest, RequestContext) throws(KeychainError) -> HostAnswer

    private let exchange: Exchange
    private let tellOfCancellation: @Sendable (RequestNumber) -> Void
    private let isConnected: @Sendable () -> Bool

    /// - Parameter isConnected: whether a host keeps something for the client. Only such a host is asked to drop something.
    package init(
        cancelling tellOfCancellation: @escaping @Sendable (RequestNumber) -> Void = { _ in },
        isConnected: @escaping @Sendable () -> Bool = { true },
        exchange: @escaping Exchange
    ) {
        self.exchange = exchange
        self.tellOfCancellation = tellOfCancellation
        self.isConnected = isConnected
    }

    /// The name of a keychain, as ``path(ofKeychain:_:)`` takes it, in the form that means the same in the host's working directory.
    private func everywhere(_ name: String) -> String {
        name.contains("/") && !name.hasPrefix("~/") ? absolutePath(name) : name
    }

    /// Sends a request whose answer is of the given kind, and returns its value.
    func send<Value: WireValue>(
        _ request: HostRequest, _ kind: (Value) -> HostAnswer, _ context: RequestContext
    ) throws(KeychainError) -> Value {
        guard let value = try answer(to: request, context).value(of: kind) else { throw WireService.unfitting }
        return value
    }

    /// Sends a request whose answer tells nothing but that it is done.
    func send(_ request: HostRequest, _ context: RequestContext) throws(KeychainError) {
        guard case .done = try answer(to: request, context) else { throw WireService.unfitting }
    }

    private func answer(to request: HostRequest, _ context: RequestContext) throws(KeychainError) -> HostAnswer {
        let answer = try exchange(request, context)
        if case .failed(let error) = answer { throw error }
        return answer
    }

    private static let unfitting = KeychainError(.internal, "the host answers something that was not asked for")

    package func keychains(
        _ kinds: KeychainDescription.Kinds, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        try send(.keychains(kinds), HostAnswer.keychains, context)
    }

    package func keychain(
        _ identifier: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.keychain(identifier), HostAnswer.keychain, context)
    }

    package func items(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Item]> {
        try send(.items(query), HostAnswer.items, context)
    }

    package func identities(
        matching query: Query, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Identity]> {
        try send(.identities(query), HostAnswer.identities, context)
    }

    package func search(
        _ request: SearchRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<SearchPage> {
        try send(.search(request), HostAnswer.searched, context)
    }

    package func explain(
        _ query: Query, readingSecrets readsSecrets: Bool, _ context: RequestContext
    ) throws(KeychainError) -> Explanation {
        try send(.explain(query, readingSecrets: readsSecrets), HostAnswer.explanation, context)
    }

    package func secret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        try send(.secret(item), HostAnswer.secret, context)
    }

    package func change(
        _ steps: [ChangeStep], _ context: RequestContext
    ) throws(KeychainError) -> Outcome<ChangeResult> {
        try send(.change(steps), HostAnswer.changed, context)
    }

    package func perform(_ operation: KeyRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        try send(.perform(operation), HostAnswer.secret, context)
    }

    package func keys(
        matching query: KeyQuery, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeyDescription]> {
        try send(.keys(query), HostAnswer.keys, context)
    }

    package func askAhead(of action: GuardedAction, _ context: RequestContext) throws(KeychainError) {
        try send(.askAhead(of: action), context)
    }

    package func vouching(
        for item: PersistentReference, with der: [UInt8], _ context: RequestContext
    ) throws(KeychainError) -> Vouching {
        try send(.vouching(for: item, with: der), HostAnswer.vouching, context)
    }

    package func damage(matching query: Query, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        try send(.damage(query), HostAnswer.damage, context)
    }

    package func storedSecret(
        of item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> SharedSecret? {
        try send(.storedSecret(of: item), HostAnswer.secret, context)
    }

    package func isSupported(
        _ algorithm: KeyAlgorithm, for operation: KeyOperation, by key: KeyRequest.Key, _ context: RequestContext
    ) throws(KeychainError) -> Bool {
        try send(.isSupported(algorithm, for: operation, by: key), HostAnswer.supported, context)
    }

    package func unlock(
        _ keychain: KeychainIdentifier, for seconds: UInt32?, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.unlock(keychain, for: seconds), context)
    }

    package func lock(_ keychain: KeychainIdentifier?, _ context: RequestContext) throws(KeychainError) -> [Missing] {
        try send(.lock(keychain), HostAnswer.locked, context)
    }

    package func administer(
        _ keychain: KeychainIdentifier, _ administration: CardAdministration, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.administer(keychain, administration), context)
    }

    package func events(
        of topic: EventTopic, after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage {
        try send(.events(of: topic, after: position, waiting: patience), HostAnswer.events, context)
    }

    package func endEvents(at position: EventPosition, _ context: RequestContext) throws(KeychainError) {
        if isConnected() { try send(.endEvents(at: position), context) }
    }

    package func usableCredentials(_ context: RequestContext) throws(KeychainError) -> [CredentialKind] {
        try send(.usableCredentials, HostAnswer.credentials, context)
    }

    package func endAuthentication(
        _ number: AuthenticationNumber, _ context: RequestContext
    ) throws(KeychainError) {
        if isConnected() { try send(.endAuthentication(number), context) }
    }

    package func path(ofKeychain name: String, _ context: RequestContext) throws(KeychainError) -> String {
        try send(.path(ofKeychain: everywhere(name)), HostAnswer.path, context)
    }

    package func openKeychain(
        at path: String?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.openKeychain(at: path.map(everywhere)), HostAnswer.keychain, context)
    }

    package func createKeychain(
        _ name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(.createKeychain(everywhere(name), password: password), HostAnswer.keychain, context)
    }

    package func deleteKeychain(_ name: String, _ context: RequestContext) throws(KeychainError) {
        try send(.deleteKeychain(everywhere(name)), context)
    }

    package func configure(
        _ keychain: KeychainIdentifier, _ settings: KeychainSettings, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.configure(keychain, settings), context)
    }

    package func keychainChoice(
        in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainChoice {
        try send(.keychainChoice(in: domain), HostAnswer.choice, context)
    }

    package func choose(
        _ change: KeychainChoice.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        let change: KeychainChoice.Change =
            switch change {
            case .searchList(let names): .searchList(names.map(everywhere))
            case .defaultKeychain(let name): .defaultKeychain(name.map(everywhere))
            case .loginKeychain(let name): .loginKeychain(name.map(everywhere))
            }
        try send(.choose(change, in: domain), context)
    }

    package func changePassword(
        of keychain: KeychainIdentifier, from old: SharedSecret?, to new: SharedSecret?, renewingKey renewsKey: Bool,
        _ context: RequestContext
    ) throws(KeychainError) -> PasswordChange {
        try send(
            .changePassword(of: keychain, from: old, to: new, renewingKey: renewsKey), HostAnswer.passwordChange,
            context)
    }

    package func bind(
        _ keychain: KeychainIdentifier, to card: KeychainIdentifier, key: String?, _ context: RequestContext
    ) throws(KeychainError) -> BoundCard {
        let cards = try send(.bind(keychain, to: card, key: key), HostAnswer.boundCards, context)
        guard let bound = cards.first, cards.count == 1 else { throw WireService.unfitting }
        return bound
    }

    package func unbind(
        _ keychain: KeychainIdentifier, from card: KeychainIdentifier?, _ context: RequestContext
    ) throws(KeychainError) -> [BoundCard] {
        try send(.unbind(keychain, from: card), HostAnswer.boundCards, context)
    }

    package func backUp(
        _ keychain: KeychainIdentifier, to path: String, _ context: RequestContext
    ) throws(KeychainError) -> BackupCount {
        try send(.backUp(keychain, to: absolutePath(path)), HostAnswer.backup, context)
    }

    package func restoreKeychain(
        from backup: String, as name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try send(
            .restoreKeychain(from: absolutePath(backup), as: everywhere(name), password: password), HostAnswer.keychain,
            context)
    }

    package func presenceProof(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> PresenceProof {
        try send(.presenceProof(keychain), HostAnswer.presenceProof, context)
    }

    package func confirmPresence(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.confirmPresence(keychain), context)
    }

    package func trustedRoots(_ context: RequestContext) throws(KeychainError) -> [Certificate] {
        try send(.trustedRoots, HostAnswer.certificates, context)
    }

    package func judge(
        _ request: ChainRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<CertificateChain.Outcome> {
        try send(.judge(request), HostAnswer.verdict, context)
    }

    package func importFile(
        _ request: ImportRequest, _ context: RequestContext
    ) throws(KeychainError) -> ImportedContent {
        try send(.importFile(request), HostAnswer.imported, context)
    }

    package func exportFile(_ request: ExportRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        try send(.exportFile(request), HostAnswer.secret, context)
    }

    package func places(_ context: RequestContext) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try send(.places, HostAnswer.places, context)
    }

    package func awaitPlaces(
        otherThan known: [TokenPlace], _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[TokenPlace]> {
        try send(.awaitPlaces(otherThan: known), HostAnswer.places, context)
    }

    package func token(
        in place: String, telling facts: TokenFacts, _ context: RequestContext
    ) throws(KeychainError) -> TokenDescription {
        try send(.token(in: place, telling: facts), HostAnswer.token, context)
    }

    package func tokenItems(
        in place: String, _ selection: TokenItemSelection, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Item]> {
        try send(.tokenItems(in: place, selection), HostAnswer.items, context)
    }

    package func logIn(
        to place: String, forOneUse isForOneUse: Bool, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.logIn(to: place, forOneUse: isForOneUse), context)
    }

    package func logOut(of place: String, _ context: RequestContext) throws(KeychainError) {
        try send(.logOut(of: place), context)
    }

    package func changePIN(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.changePIN(of: place, from: old, to: new), context)
    }

    package func cancel(_ request: RequestNumber) { tellOfCancellation(request) }
}
