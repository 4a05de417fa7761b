public import HostAPI
public import KeychainModel
internal import Localization
internal import SecureBytes
public import SystemCrypto
internal import TokenKit

// Requests about cards, their drivers and their settings.
extension Host {
    public func drivers(_ context: RequestContext) throws(KeychainError) -> [CardDriver] {
        try run(context) { _ throws(KeychainError) in
            let disabled = try? keychains.preferences.disabledDrivers
            return keychains.allDrivers.map { driver in
                CardDriver(
                    driver.name, isDisabled: disabled?.contains(driver.name) ?? true,
                    keyNames: driver.keyNames.map(\.rawValue),
                    dataObjects: driver.dataObjects.map { CardDataObject($0) })
            }
        }
    }

    public func cardSettings(
        _ parts: CardSettings.Parts, in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> CardSettings {
        try run(context) { _ throws(KeychainError) in
            let preferences = keychains.preferences
            var settings = CardSettings()
            if parts.contains(.pins) {
                if let domain {
                    settings.pinTimeout = try preferences.pinTimeout(in: domain)
                    settings.provesBeforePIN = try preferences.provesBeforePIN(in: domain)
                } else {
                    settings.pinTimeout = try preferences.pinTimeout()
                    settings.provesBeforePIN = try preferences.provesBeforePIN()
                }
            }
            if parts.contains(.drivers) {
                let disabled =
                    if let domain { try preferences.disabledDrivers(in: domain) } else {
                        try preferences.disabledDrivers
                    }
                settings.disabledDrivers = disabled.sorted()
            }
            return settings
        }
    }

    public func configureCards(
        _ change: CardSettings.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in
            let preferences = keychains.preferences
            switch change {
            case .pinTimeout(let seconds): try preferences.setPINTimeout(seconds, in: domain)
            case .provesBeforePIN(let proves): try preferences.setProvesBeforePIN(proves, in: domain)
            case .driver(let name, let isDisabled):
                try preferences.setDriver(name, isDisabled: isDisabled, in: domain)
            }
        }
    }

    public func card(
        _ identifier: KeychainIdentifier, telling parts: CardOverview.Parts, _ context: RequestContext
    ) throws(KeychainError) -> CardOverview {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let token = try visit.session.card(identifier)
            let facts = parts.contains(.facts) ? try token.facts() : []
            let inventory = parts.contains(.slots) ? try token.inventory() : TokenInventory()
            // The description comes last: with the facts, some cards tell their version.
            var overview = CardOverview(try visit.session.description(of: token, as: identifier))
            overview.facts = facts.map { CardFact($0) }
            overview.slots = inventory.objects.map { CardSlot($0) }
            overview.failures = inventory.errors
            // Asked first: if the card has metadata of it, the PIN's status comes from metadata as well.
            if parts.contains(.unblockingKey) { overview.unblockingKey = token.state(of: .unblockingKey) }
            if parts.contains(.pin) { overview.pin = token.state(of: .pin) }
            return overview
        }
    }

    public func administer(
        _ card: KeychainIdentifier, _ change: CardChange, by authority: CardAuthority, _ context: RequestContext
    ) throws(KeychainError) -> CardChangeOutcome {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let token = try visit.session.card(card)
            return try changing(token, .administer, change.slot) { () throws(KeychainError) in
                try token.administer(change, by: authority, visit.session.authentication)
            }
        }
    }

    public func managementKey(
        of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardManagementKeyStatus {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            try visit.session.card(card).managementKey()
        }
    }

    public func erase(_ card: KeychainIdentifier, _ context: RequestContext) throws(KeychainError) {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let token = try visit.session.card(card)
            try changing(token, .erase, nil) { () throws(KeychainError) in try token.erase() }
        }
    }

    /// Changes a card, of which other clients then read all facts anew.
    private func changing<Result>(
        _ token: TokenKeychain, _ action: JournalEntry.Action, _ item: String?,
        _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        defer { knownCards?.forget(token.name) }
        return try journal.noting(action, item, of: token.name, body)
    }

    public func attestation(
        of slot: String, on card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> [[UInt8]] {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            try visit.session.card(card).attestation(of: slot)
        }
    }

    public func verifyAttestation(
        _ statement: [Certificate], roots: [Certificate], _ context: RequestContext
    ) throws(KeychainError) -> CardAttestation {
        try run(context) { _ throws(KeychainError) in
            for driver in keychains.allDrivers {
                let attestation = try KeychainError.mapping { () throws(TokenError) in
                    try driver.verify(statement, roots: roots, at: ItemDate.now.seconds)
                }
                if let attestation { return CardAttestation(attestation) }
            }
            throw KeychainError(.param, "the first certificate is no statement of a card about a key")
        }
    }

    public func dataObject(
        _ name: String, of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardDataContent {
        try visit(context, onToken: true) { visit throws(KeychainError) in
            let token = try visit.session.card(card)
            let drivers = keychains.allDrivers
            let own = drivers.first { card.rawValue.hasPrefix($0.name + ":") }
            let id = TokenObjectID(name)
            let owned = own.flatMap { $0.dataObject(named: id) ?? $0.dataObject(of: id) }
            guard let object = owned ?? drivers.lazy.compactMap({ $0.dataObject(named: id) }).first else {
                throw KeychainError(.itemNotFound, "there is no data object '\(name)'")
            }
            guard let own, owned != nil, var content = try visit.content(of: object, on: token) else {
                throw KeychainError(.itemNotFound, "the card has no \(object.label)")
            }
            let facts: Result<[CardFact], KeychainError>
            do throws(TokenError) {
                facts = .success(try own.facts(of: object.id, content: content).map { CardFact($0) })
            } catch {
                facts = .failure(KeychainError(error))
            }
            return CardDataContent(
                SharedSecret(Secret(consuming: &content)), of: CardDataObject(object), facts: facts)
        }
    }
}

extension Host.Visit {
    /// The content of a data object of a card; nil for an absent one. Asks for the PIN where the card does not give the object without it.
    fileprivate func content(
        of object: TokenDataObject, on token: TokenKeychain
    ) throws(KeychainError) -> [UInt8]? {
        do throws(KeychainError) {
            // Before the PIN is presented, some cards say that an object which needs it is absent.
            if let content = try token.content(of: object.id) { return content }
            guard object.needsPIN else { return nil }
        } catch {
            guard error.code == .notLoggedIn else { throw error }
        }
        try ticket.check()
        try token.verifyPIN(use: use("read the \(object.label)"), authentication: session.authentication)
        return try token.content(of: object.id)
    }
}

extension TokenKeychain {
    fileprivate func state(of kind: PINKind) -> Result<CardPIN, KeychainError> {
        do throws(KeychainError) {
            let status = try status(of: kind)
            return .success(
                CardPIN(triesLeft: status.triesLeft, maximumTries: status.maximumTries, isDefault: status.isDefault))
        } catch {
            return .failure(error)
        }
    }
}

extension CardDataObject {
    fileprivate init(_ object: TokenDataObject) {
        self.init(object.id.rawValue, label: object.label, tag: object.tag, needsPIN: object.needsPIN)
    }
}

extension CardFact {
    fileprivate init(_ fact: TokenFact) {
        let parts = fact.parts.mapValues { part -> Plain in
            switch part {
            case .text(let text): .text(text)
            case .number(let number): .number(number)
            case .list(let words): .list(words)
            }
        }
        self.init(fact.name, fact.value, parts: parts)
    }
}

extension CardAttestation {
    fileprivate init(_ attestation: TokenAttestation) {
        self.init(
            publicKey: attestation.publicKey, slot: attestation.place.rawValue, pinPolicy: attestation.pinPolicy,
            touchPolicy: attestation.touchPolicy, facts: attestation.facts.map { CardFact($0) })
    }
}

extension CardSlot {
    fileprivate init(_ object: TokenObject) {
        let key = object.key.map { key in
            Key(publicKey: key.publicKey, pinPolicy: key.pinPolicy, touchPolicy: key.touchPolicy)
        }
        self.init(object.id.rawValue, label: object.label, key: key, certificate: object.certificate)
    }
}

extension CardChange {
    /// The slot or object that changes; nil for one of the card as a whole.
    var slot: String? {
        switch self {
        case .generateKey(let name, _, _, _, _), .importKey(let name, _, _, _, _), .setCertificate(let name, _, _),
            .renewKey(_, let name, _, _, _, _), .setRenewedCertificate(_, let name, _), .deleteKey(let name, _),
            .moveKey(let name, _), .setData(let name, _):
            name
        case .authenticate, .identify, .setManagementKey, .setTries: nil
        }
    }
}
