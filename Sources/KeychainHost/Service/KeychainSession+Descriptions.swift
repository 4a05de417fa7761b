internal import HostAPI
internal import KeychainModel
internal import TokenKit

extension KeychainSession {
    /// The members with their state, without readers that have no card of a known kind.
    func descriptions(_ kinds: KeychainDescription.Kinds) -> Outcome<[KeychainDescription]> {
        var outcome = Outcome<[KeychainDescription]>([])
        if kinds.contains(.knownCards) { outcome.found = knownTokens().map { KeychainDescription($0.identity) } }
        guard !kinds.isDisjoint(with: .all) else { return outcome }
        outcome.missing = searchList.missing
        let standard = defaultKeychain
        for member in searchList.members {
            do throws(KeychainError) {
                switch member {
                case let file as LocalKeychain where kinds.contains(.files):
                    outcome.found.append(description(of: file, besides: standard))
                case let token as TokenKeychain where kinds.contains(.cards): outcome.add([token], module: nil)
                case let module as ModuleKeychain where kinds.contains(.moduleTokens):
                    outcome.add(try module.tokens(), module: module.name)
                default: break
                }
            } catch {
                outcome.missing.append(member.missing(error))
            }
        }
        return outcome
    }

    /// A keychain with the facts that only it can tell. Asking a card for the tries that are left costs none.
    ///
    /// - Throws: `errSecNoSuchKeychain`.
    func details(of identifier: KeychainIdentifier) throws(KeychainError) -> KeychainDetails {
        if let absent = absentTokens().first(where: { $0.isIdentified(by: identifier) }), unreadCards().isEmpty {
            return KeychainDetails(KeychainDescription(absent.identity))
        }
        switch try keychain(identifier) {
        case let file as LocalKeychain: return details(of: file)
        case let token as TokenKeychain:
            let description = try description(of: token, as: identifier)
            let others = modules.filter { ((try? $0.sharedReaders()) ?? []).contains(token.name) }
            return KeychainDetails(description, triesLeft: token.triesLeft(), otherLocations: others.map(\.name))
        default: throw .noSuchKeychain(identifier)
        }
    }

    /// A card or a module's token with its state.
    ///
    /// - Throws: `errSecNoSuchKeychain` where the card has been taken out.
    func description(
        of token: TokenKeychain, as identifier: KeychainIdentifier
    ) throws(KeychainError) -> KeychainDescription {
        let isMember = searchList.members.contains { $0 is TokenKeychain && $0.isIdentified(by: identifier) }
        let module = isMember ? nil : modules.first { $0.part(identifiedBy: identifier) != nil }?.name
        guard let description = try token.description(isCard: isMember, module: module) else {
            throw .noSuchKeychain(identifier)
        }
        return description
    }

    private var modules: [ModuleKeychain] { searchList.members.compactMap { $0 as? ModuleKeychain } }

    func details(of file: LocalKeychain) -> KeychainDetails {
        KeychainDetails(
            description(of: file, besides: defaultKeychain), settings: try? file.settings,
            unlocking: file.unlockingDetails)
    }

    /// - Parameter standard: the default keychain.
    private func description(of file: LocalKeychain, besides standard: (any Keychain)?) -> KeychainDescription {
        KeychainDescription(
            file.identifier, .file, name: file.name, location: file.path, status: file.status,
            isDefault: standard?.isIdentified(by: file.identifier) ?? false, damage: file.damage)
    }
}

extension KeychainDescription {
    /// A card that was read before, and may be in no reader.
    fileprivate init(_ identity: TokenIdentity) {
        self.init(
            KeychainIdentifier(rawValue: identity.id.description), .card, name: identity.label, location: "",
            status: .readable, token: Token(identity))
    }
}

extension KeychainDescription.Token {
    fileprivate init(_ identity: TokenIdentity, in slot: (any TokenBackend)? = nil, shownBy module: String? = nil) {
        self.init(
            manufacturer: identity.manufacturer, model: identity.model, serialNumber: identity.serialNumber,
            version: identity.version, slotName: slot?.cryptokiName, module: module)
    }
}

extension LocalKeychain {
    fileprivate var unlockingDetails: UnlockingDetails {
        var details = UnlockingDetails()
        func attempt<Detail>(_ detail: () throws(KeychainError) -> Detail) -> Detail? {
            do throws(KeychainError) { return try detail() } catch {
                if !details.failures.contains(where: { $0.description == error.description }) {
                    details.failures.append(error)
                }
                return nil
            }
        }
        details.cards =
            attempt { () throws(KeychainError) in try cardBindings().map { BoundCard($0) } } ?? []
        _ = attempt { () throws(KeychainError) in try settings }
        details.hasPassword = attempt { () throws(KeychainError) in try hasPassword }
        details.passwordCost = attempt { () throws(KeychainError) in try cost }
        _ = attempt { () throws(KeychainError) in try checkCardBindings() }
        return details
    }
}

extension TokenKeychain {
    /// The card with its state; nil where no driver knows it.
    fileprivate func description(
        isCard: Bool, module: String?
    ) throws(KeychainError) -> KeychainDescription? {
        try identity().map { identity in
            KeychainDescription(
                KeychainIdentifier(rawValue: identity.id.description), isCard ? .card : .moduleToken,
                name: identity.label, location: name, status: status,
                token: KeychainDescription.Token(identity, in: slot, shownBy: module))
        }
    }
}

extension Outcome<[KeychainDescription]> {
    fileprivate mutating func add(_ tokens: [TokenKeychain], module: String?) {
        for token in tokens {
            do throws(KeychainError) {
                let description = try token.description(isCard: module == nil, module: module)
                if let description { found.append(description) }
            } catch {
                missing.append(token.missing(error))
            }
        }
    }
}
