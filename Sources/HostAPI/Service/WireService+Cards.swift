package import KeychainModel
package import SystemCrypto

// Requests about cards, their drivers and their settings.
extension WireService {
    package func drivers(_ context: RequestContext) throws(KeychainError) -> [CardDriver] {
        try send(.drivers, HostAnswer.drivers, context)
    }

    package func cardSettings(
        _ parts: CardSettings.Parts, in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> CardSettings {
        try send(.cardSettings(parts, in: domain), HostAnswer.cardSettings, context)
    }

    package func configureCards(
        _ change: CardSettings.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.configureCards(change, in: domain), context)
    }

    package func card(
        _ identifier: KeychainIdentifier, telling parts: CardOverview.Parts, _ context: RequestContext
    ) throws(KeychainError) -> CardOverview {
        try send(.card(identifier, telling: parts), HostAnswer.card, context)
    }

    package func dataObject(
        _ name: String, of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardDataContent {
        try send(.dataObject(name, of: card), HostAnswer.dataObject, context)
    }

    package func administer(
        _ card: KeychainIdentifier, _ change: CardChange, by authority: CardAuthority, _ context: RequestContext
    ) throws(KeychainError) -> CardChangeOutcome {
        try send(.administerCard(card, change, by: authority), HostAnswer.cardChange, context)
    }

    package func managementKey(
        of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardManagementKeyStatus {
        try send(.managementKey(of: card), HostAnswer.managementKey, context)
    }

    package func erase(_ card: KeychainIdentifier, _ context: RequestContext) throws(KeychainError) {
        try send(.eraseCard(card), context)
    }

    package func attestation(
        of slot: String, on card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> [[UInt8]] {
        try send(.attestation(of: slot, on: card), HostAnswer.attestation, context)
    }

    package func verifyAttestation(
        _ statement: [Certificate], roots: [Certificate], _ context: RequestContext
    ) throws(KeychainError) -> CardAttestation {
        try send(.verifyAttestation(statement, roots: roots), HostAnswer.verifiedAttestation, context)
    }

    package func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription] {
        try send(.modules, HostAnswer.modules, context)
    }
}
