package import KeychainModel

// Requests about cards, their drivers and their settings.
extension WireService {
    package func drivers(_ context: RequestContext) throws(KeychainError) -> [CardDriver] {
        try send(.drivers, context) { if case .drivers(let drivers) = $0 { drivers } else { nil } }
    }

    package func cardSettings(
        _ parts: CardSettings.Parts, in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> CardSettings {
        try send(.cardSettings(parts, in: domain), context) {
            if case .cardSettings(let settings) = $0 { settings } else { nil }
        }
    }

    package func configureCards(
        _ change: CardSettings.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        try send(.configureCards(change, in: domain), context) { if case .done = $0 { () } else { nil } }
    }

    package func card(
        _ identifier: KeychainIdentifier, telling parts: CardOverview.Parts, _ context: RequestContext
    ) throws(KeychainError) -> CardOverview {
        try send(.card(identifier, telling: parts), context) {
            if case .card(let overview) = $0 { overview } else { nil }
        }
    }

    package func dataObject(
        _ name: String, of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardDataContent {
        try send(.dataObject(name, of: card), context) {
            if case .dataObject(let content) = $0 { content } else { nil }
        }
    }

    package func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription] {
        try send(.modules, context) { if case .modules(let modules) = $0 { modules } else { nil } }
    }
}
