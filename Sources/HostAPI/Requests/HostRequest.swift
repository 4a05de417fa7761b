public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// A request of ``KeychainService`` as a value.
public enum HostRequest: Sendable, Equatable {
    case keychains(KeychainDescription.Kinds)
    case items(Query)
    case identities(Query)
    case secret(PersistentReference)
    case change([ChangeStep])
    case perform(KeyRequest)
    case unlock(KeychainIdentifier, for: UInt32?)
    case lock(KeychainIdentifier?)
    case administer(KeychainIdentifier, CardAdministration)
    case events(of: EventTopic, after: EventPosition?, waiting: Duration)
    case keychain(KeychainIdentifier)
    case explain(Query, readingSecrets: Bool)
    case endAuthentication(AuthenticationNumber)
    case path(ofKeychain: String)
    case openKeychain(at: String?)
    case createKeychain(String, password: SharedSecret?)
    case deleteKeychain(String)
    case configure(KeychainIdentifier, KeychainSettings)
    case keychainChoice(in: PreferencesDomain?)
    case choose(KeychainChoice.Change, in: PreferencesDomain)
    case presenceProof(KeychainIdentifier)
    case confirmPresence(KeychainIdentifier)
    case isSupported(KeyAlgorithm, for: KeyOperation, by: KeyRequest.Key)
    case changePassword(of: KeychainIdentifier, from: SharedSecret?, to: SharedSecret?, renewingKey: Bool)
    case bind(KeychainIdentifier, to: KeychainIdentifier, key: String?)
    case unbind(KeychainIdentifier, from: KeychainIdentifier?)
    case backUp(KeychainIdentifier, to: String)
    case restoreKeychain(from: String, as: String, password: SharedSecret?)
    case usableCredentials
    case endEvents(at: EventPosition)
    case trustedRoots
    case judge(ChainRequest)
    case importFile(ImportRequest)
    case exportFile(ExportRequest)
    case places
    case awaitPlaces(otherThan: [TokenPlace])
    case token(in: String, telling: TokenFacts)
    case tokenItems(in: String, TokenItemSelection)
    case logIn(to: String, forOneUse: Bool)
    case logOut(of: String)
    case changePIN(of: String, from: SharedSecret, to: SharedSecret)
    case keys(KeyQuery)
    case askAhead(of: GuardedAction)
    case vouching(for: PersistentReference, with: [UInt8])
    case drivers
    case cardSettings(CardSettings.Parts, in: PreferencesDomain?)
    case configureCards(CardSettings.Change, in: PreferencesDomain)
    case card(KeychainIdentifier, telling: CardOverview.Parts)
    case dataObject(String, of: KeychainIdentifier)
    case modules
    case damage(Query)
    case storedSecret(of: PersistentReference)
    case hostStatus
    case journal(after: UInt64?, waiting: Duration)
    case search(SearchRequest)
    case accessDecisions(in: [KeychainIdentifier]?)
    case changeAccess(AccessChange)
    case access(to: PersistentReference)
    case administerCard(KeychainIdentifier, CardChange, by: CardAuthority)
    case managementKey(of: KeychainIdentifier)
    case eraseCard(KeychainIdentifier)
    case attestation(of: String, on: KeychainIdentifier)
    case verifyAttestation([Certificate], roots: [Certificate])
}

extension KeychainService {
    /// Answers a request. A failure is an answer too.
    package func answer(_ request: HostRequest, _ context: RequestContext) -> HostAnswer {
        do throws(KeychainError) {
            switch request {
            case .keychains(let kinds): return .keychains(try keychains(kinds, context))
            case .items(let query): return .items(try items(matching: query, context))
            case .identities(let query): return .identities(try identities(matching: query, context))
            case .secret(let reference): return .secret(try secret(of: reference, context))
            case .change(let steps): return .changed(try change(steps, context))
            case .perform(let operation): return .secret(try perform(operation, context))
            case .unlock(let keychain, let seconds): try unlock(keychain, for: seconds, context)
            case .lock(let keychain): return .locked(missing: try lock(keychain, context))
            case .administer(let keychain, let administration): try administer(keychain, administration, context)
            case .events(let topic, let position, let patience):
                return .events(try events(of: topic, after: position, waiting: patience, context))
            case .keychain(let identifier): return .keychain(try keychain(identifier, context))
            case .explain(let query, let readsSecrets):
                return .explanation(try explain(query, readingSecrets: readsSecrets, context))
            case .endAuthentication(let number): try endAuthentication(number, context)
            case .path(let name): return .path(try path(ofKeychain: name, context))
            case .openKeychain(let path): return .keychain(try openKeychain(at: path, context))
            case .createKeychain(let name, let password):
                return .keychain(try createKeychain(name, password: password, context))
            case .deleteKeychain(let name): try deleteKeychain(name, context)
            case .configure(let keychain, let settings): try configure(keychain, settings, context)
            case .keychainChoice(let domain): return .choice(try keychainChoice(in: domain, context))
            case .choose(let change, let domain): try choose(change, in: domain, context)
            case .presenceProof(let keychain): return .presenceProof(try presenceProof(for: keychain, context))
            case .confirmPresence(let keychain): try confirmPresence(for: keychain, context)
            case .isSupported(let algorithm, let operation, let key):
                return .supported(try isSupported(algorithm, for: operation, by: key, context))
            case .changePassword(let keychain, let old, let new, let renewsKey):
                return .passwordChange(
                    try changePassword(of: keychain, from: old, to: new, renewingKey: renewsKey, context))
            case .bind(let keychain, let card, let key):
                return .boundCards([try bind(keychain, to: card, key: key, context)])
            case .unbind(let keychain, let card): return .boundCards(try unbind(keychain, from: card, context))
            case .backUp(let keychain, let path): return .backup(try backUp(keychain, to: path, context))
            case .restoreKeychain(let backup, let name, let password):
                return .keychain(try restoreKeychain(from: backup, as: name, password: password, context))
            case .usableCredentials: return .credentials(try usableCredentials(context))
            case .endEvents(let position): try endEvents(at: position, context)
            case .trustedRoots: return .certificates(try trustedRoots(context))
            case .judge(let request): return .verdict(try judge(request, context))
            case .importFile(let request): return .imported(try importFile(request, context))
            case .exportFile(let request): return .secret(try exportFile(request, context))
            case .places: return .places(try places(context))
            case .awaitPlaces(let known): return .places(try awaitPlaces(otherThan: known, context))
            case .token(let place, let facts): return .token(try token(in: place, telling: facts, context))
            case .tokenItems(let place, let selection): return .items(try tokenItems(in: place, selection, context))
            case .logIn(let place, let isForOneUse): try logIn(to: place, forOneUse: isForOneUse, context)
            case .logOut(let place): try logOut(of: place, context)
            case .changePIN(let place, let old, let new): try changePIN(of: place, from: old, to: new, context)
            case .keys(let query): return .keys(try keys(matching: query, context))
            case .askAhead(let action): try askAhead(of: action, context)
            case .vouching(let item, let der): return .vouching(try vouching(for: item, with: der, context))
            case .drivers: return .drivers(try drivers(context))
            case .cardSettings(let parts, let domain):
                return .cardSettings(try cardSettings(parts, in: domain, context))
            case .configureCards(let change, let domain): try configureCards(change, in: domain, context)
            case .card(let identifier, let parts): return .card(try card(identifier, telling: parts, context))
            case .dataObject(let name, let card): return .dataObject(try dataObject(name, of: card, context))
            case .modules: return .modules(try modules(context))
            case .damage(let query): return .damage(try damage(matching: query, context))
            case .storedSecret(let item): return .secret(try storedSecret(of: item, context))
            case .hostStatus: return .hostStatus(try hostStatus(context))
            case .journal(let position, let patience):
                return .journal(try journal(after: position, waiting: patience, context))
            case .search(let request): return .searched(try search(request, context))
            case .accessDecisions(let keychains):
                return .accessDecisions(try accessDecisions(in: keychains, context))
            case .changeAccess(let change): return .accessChange(try changeAccess(change, context))
            case .access(let item): return .access(try access(to: item, context))
            case .administerCard(let card, let change, let authority):
                return .cardChange(try administer(card, change, by: authority, context))
            case .managementKey(let card): return .managementKey(try managementKey(of: card, context))
            case .eraseCard(let card): try erase(card, context)
            case .attestation(let slot, let card):
                return .attestation(try attestation(of: slot, on: card, context))
            case .verifyAttestation(let statement, let roots):
                return .verifiedAttestation(try verifyAttestation(statement, roots: roots, context))
            }
            return .done
        } catch {
            return .failed(error)
        }
    }
}
