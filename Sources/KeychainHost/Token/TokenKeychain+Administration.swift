internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// Changes of a card's content, which need its management key.
extension TokenKeychain {
    /// Asks for the management key, or for the PIN under which the card keeps it, and changes the card's content.
    func administer(
        _ change: CardChange, by authority: CardAuthority, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> CardChangeOutcome {
        let insertion = try insertion()
        let status = try KeychainError.mapping { () throws(TokenError) in try slot.managementKey(at: insertion) }
        let change = change.tokenChange(status)
        let outcome = try askingAdministrator(
            status, authority, needsPIN: change.needsPIN(status), at: insertion, authentication
        ) { (administrator) throws(TokenError) in
            let notice = change.newKey.map { kind, place in
                NewKeyNotice(kind, in: place.rawValue, of: name, authentication.prompter)
            }
            defer { notice?.end() }
            return try slot.perform(change, by: administrator, at: insertion)
        }
        return CardChangeOutcome(outcome)
    }

    /// Asks for the management key, or for the PIN under which the card keeps it, and has the card check it.
    func askAdministrator(
        _ status: ManagementKeyStatus, at insertion: TokenInsertion, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> TokenAdministrator {
        try askingAdministrator(
            status, status.isKeptOnToken ? .found : .asked, needsPIN: false, at: insertion, authentication
        ) { (administrator) throws(TokenError) in
            _ = try slot.perform(.authenticate, by: administrator, at: insertion)
            return administrator.clone()
        }
    }

    private func askingAdministrator<Result: ~Copyable>(
        _ status: ManagementKeyStatus, _ authority: CardAuthority, needsPIN: Bool, at insertion: TokenInsertion,
        _ authentication: AuthenticationContext,
        _ body: (borrowing TokenAdministrator) throws(TokenError) -> Result
    ) throws(KeychainError) -> Result {
        // A change of the key was interrupted where the factory's still counts.
        let isKept = authority == .found && status.isKeptOnToken && status.isDefault != true
        let key = try isKept ? nil : managementKey(status, authority, authentication)
        let notice: OperationNotice = { [name, touch = TokenTraits.TouchUse(status.touch)] in
            let notice = TouchNotice(touch, of: name, authentication.prompter, authentication.notices)
            return { notice.end() }
        }
        guard isKept || needsPIN else {
            return try KeychainError.mapping { () throws(TokenError) in
                var administrator = TokenAdministrator(.init(key, isKept: isKept))
                administrator.touchNotice = notice
                return try body(administrator)
            }
        }
        var question = PINQuestion(
            .pin, use: String(localized: "administer it"), slot: slot, insertion: insertion,
            authentication: authentication,
            allowsPINPad: false)
        return try question.present { (pin, lastTry) throws(TokenError) in
            var administrator = TokenAdministrator(.init(key, isKept: isKept), PIN(pin.secret.clone()), lastTry)
            administrator.touchNotice = notice
            return try body(administrator)
        }
    }

    /// Asks for the management key until its form is right.
    ///
    /// - Returns: nil for the factory's.
    private func managementKey(
        _ status: ManagementKeyStatus, _ authority: CardAuthority, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> SharedSecret? {
        if authority == .found, status.isDefault == true { return nil }
        var failure: LocalizedText?
        for _ in 0..<PromptRequest.mostQuestions {
            let request = PromptRequest(
                .managementKey, subject: name,
                use: String(
                    localized: status.isDefault == nil
                        ? "administer it (nothing for the factory's)" : "administer it"),
                failure: failure.map { String(localized: $0) })
            guard authentication.prompter.canAsk else { throw .cannotAsk(request, by: authentication.prompter) }
            let answer = try authentication.prompter.ask(request)
            if answer.isEmpty, status.isDefault == nil { return nil }
            if let key = Secret(managementKey: answer) { return SharedSecret(key) }
            failure = CardManagementKey.form
            guard authentication.prompter.canAskAgain else { break }
        }
        throw KeychainError(.param, failure ?? "", remedy: "give it as the tool that set it shows it")
    }

    func managementKey() throws(KeychainError) -> CardManagementKeyStatus {
        let insertion = try insertion()
        let status = try KeychainError.mapping { () throws(TokenError) in try slot.managementKey(at: insertion) }
        return CardManagementKeyStatus(
            cipher: status.cipher, isDefault: status.isDefault, touch: status.touch,
            isKeptOnCard: status.isKeptOnToken, ciphers: status.ciphers,
            keyPlaces: status.keyPlaces.map { CardKeyPlace($0.id.rawValue, for: $0.use) }, movesKeys: status.movesKeys,
            weakKeys: status.weakKeys)
    }

    func erase() throws(KeychainError) {
        let insertion = try insertion()
        try KeychainError.mapping { () throws(TokenError) in try slot.erase(at: insertion) }
    }

    func attestation(of key: String) throws(KeychainError) -> [[UInt8]] {
        let insertion = try insertion()
        return try KeychainError.mapping { () throws(TokenError) in
            try slot.attestation(of: TokenObjectID(key), at: insertion)
        }
    }
}

extension TokenAdministrator.Key {
    /// - Parameter value: nil for the factory's key.
    fileprivate init(_ value: SharedSecret?, isKept: Bool) {
        if let value {
            self = .value(value.secret.clone())
        } else {
            self = isKept ? .onToken : .factory
        }
    }
}

extension TokenChange {
    /// The kind and the place of a key that the token is to make.
    fileprivate var newKey: (KeyKind, TokenObjectID)? {
        switch self {
        case .generateKey(let place, let kind, _, _, _), .renewKey(_, let place, let kind, _, _, _): (kind, place)
        default: nil
        }
    }

    /// Whether the PIN is needed beside the management key.
    fileprivate func needsPIN(_ status: ManagementKeyStatus) -> Bool {
        switch self {
        case .setTries: true
        case .setManagementKey(let new): new.isKeptOnToken || status.isKeptOnToken
        default: false
        }
    }
}

extension CardChange {
    func tokenChange(_ status: ManagementKeyStatus) -> TokenChange {
        switch self {
        case .authenticate: return .authenticate
        case .generateKey(let slot, let kind, let policies, let replacing, let allowsWeak):
            return .generateKey(
                TokenObjectID(slot), kind, policies, replacing: replacing, allowsWeak: allowsWeak)
        case .importKey(let slot, let key, let policies, let replacing, let allowsWeak):
            return .importKey(TokenObjectID(slot), key, policies, replacing: replacing, allowsWeak: allowsWeak)
        case .renewKey(let renewal, let slot, let kind, let policies, let replacing, let allowsWeak):
            return .renewKey(
                renewal, in: TokenObjectID(slot), kind, policies, replacing: replacing, allowsWeak: allowsWeak)
        case .setRenewedCertificate(let renewal, let slot, let certificate):
            return .setRenewedCertificate(renewal, in: TokenObjectID(slot), certificate)
        case .setCertificate(let slot, let certificate, let allowsWeak):
            return .setCertificate(TokenObjectID(slot), certificate, allowsWeak: allowsWeak)
        case .deleteKey(let slot, let replacing):
            return .deleteKey(TokenObjectID(slot), replacing: replacing)
        case .moveKey(let slot, let target): return .moveKey(TokenObjectID(slot), to: TokenObjectID(target))
        case .setData(let name, let content): return .setData(TokenObjectID(name), content)
        case .identify: return .identify
        case .setManagementKey(let key):
            return .setManagementKey(
                NewManagementKey(
                    key.cipher ?? key.value.flatMap { $0.cipher(of: status) } ?? status.ciphers.first ?? .tripleDES,
                    key.value, touch: key.touch, isKeptOnToken: key.isKeptOnCard))
        case .setTries(let pin, let unblockingKey): return .setTries(pin: pin, unblockingKey: unblockingKey)
        }
    }
}

extension SharedSecret {
    /// The best cipher of the card that a given key is long enough for.
    fileprivate func cipher(of status: ManagementKeyStatus) -> BlockCipher? {
        status.ciphers.first { $0.keyLength == secret.count }
    }
}

extension CardChangeOutcome {
    init(_ outcome: consuming TokenChangeOutcome) {
        switch consume outcome {
        case .done: self = .done
        case .publicKey(let key): self = .publicKey(key)
        case .managementKey(let key): self = .managementKey(SharedSecret(key))
        }
    }
}
