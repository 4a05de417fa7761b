internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A private key on a card, whether or not the card is in a reader.
protocol TokenObjectKey: KeychainKey {
    var identity: TokenIdentity { get }
    var object: TokenObject { get }
    var key: TokenKey { get }
}

extension TokenObjectKey {
    var item: Item? { TokenItems(identity: identity, name: keychainName).key(of: object) }
    var name: String { object.id.rawValue }
    var publicKey: [UInt8] { key.publicKey }
    var certificate: [UInt8]? { object.certificate }

    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        let uses = key.uses(with: certificate)
        return switch (operation, algorithm) {
        case (.sign, .signature): uses.contains(.sign)
        case (.decrypt, .encryption): uses.contains(.decrypt)
        // Hashing a message and deriving a key are done outside of the token.
        case (.keyExchange, .keyExchange(.standard, nil)): uses.contains(.agree)
        default: false
        }
    }
}

extension TokenKey {
    /// The abilities that the token's standard and the key's certificate give the key. SecItem, the command and PKCS #11 show and
    /// allow these alone.
    func uses(with certificate: [UInt8]?) -> Usage {
        uses(isCertifiedForSignatures: TokenKey.isForSignatures(certificate))
    }

    private static func isForSignatures(_ certificate: [UInt8]?) -> Bool {
        let usage = certificate.flatMap { try? Certificate(der: $0) }?.keyUsage
        return usage?.isDisjoint(with: [.digitalSignature, .nonRepudiation]) == false
    }

    fileprivate var forAnyPurpose: TokenKey {
        TokenKey(
            kind: kind, publicKey: publicKey, usage: usage, pinPolicy: pinPolicy, touchPolicy: touchPolicy,
            label: label, publicLabel: publicLabel)
    }
}

extension KeychainKey {
    /// The key without the limits of its purpose. Earlier versions bound keychains to keys of any purpose.
    var forAnyPurpose: any KeychainKey {
        guard let key = self as? TokenKeychainKey else { return self }
        return TokenKeychainKey(
            slot: key.slot, insertion: key.insertion, identity: key.identity, object: key.object,
            key: key.key.forAnyPurpose)
    }
}

/// A private key on the card that was in a reader when the key was listed.
struct TokenKeychainKey: TokenObjectKey {
    let slot: any TokenBackend
    let insertion: TokenInsertion
    let identity: TokenIdentity
    let object: TokenObject
    let key: TokenKey

    var keychainName: String { slot.name }
    var tokenSlot: (any TokenBackend)? { slot }
    /// The card in decisions about programs, and its name there.
    var accessPlace: String { slot.accessPlace(of: identity.id.description) }
    var accessName: String { slot.knownLabel(at: insertion) ?? slot.name }

    /// Uses a PIN that was verified in this session where the key's policy lets it, else asks for the PIN and presents
    /// it in the transaction of the operation.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try checkPurpose(action.operation)
        let operation = TokenOperation(key: object.id, action: action, publicKey: publicKey)
        if key.pinPolicy == .never {
            try authentication.requirePermission(
                toPerformWithoutPIN: operation, on: accessPlace, named: accessName)
        }
        let touch = self.touch(authentication)
        if let result = try performUnasked(operation, touch, authentication) { return result }
        return try authentication.inTurn(of: slot) { hasWaited throws(KeychainError) in
            if hasWaited, let result = try performUnasked(operation, touch, authentication) { return result }
            try authentication.refuseDenied(operation, on: accessPlace, named: accessName)
            var question = self.question(use, authentication)
            let result = try question.present { (pin, lastTry) throws(TokenError) in
                // While a PIN is typed on the reader, the card waits for it and not for a touch.
                let notice = pin.origin == .typed ? nil : touch
                return try slot.perform(operation, presenting: pin, lastTry: lastTry, at: insertion, notice: notice)
            }
            authentication.noteGiven(for: accessPlace)
            return result
        }
    }

    /// The result without a question for the PIN, perhaps with one for a permission, during which the card is free.
    ///
    /// - Returns: nil where the card needs the PIN.
    private func performUnasked(
        _ operation: TokenOperation, _ touch: @escaping OperationNotice, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        var operation = operation
        while true {
            do throws(TokenError) {
                return try slot.perform(operation, at: insertion, notice: touch)
            } catch {
                switch error.code {
                case .pinRequired: return nil
                // The PIN that the program gives is then presented.
                case .permissionRequired where authentication.hasOwnPIN: return nil
                case .permissionRequired where !operation.isPermitted:
                    operation = try authentication.permitted(operation, on: accessPlace, named: accessName)
                default: throw KeychainError(error)
                }
            }
        }
    }
}

extension TokenKeychainKey {
    /// Presents a PIN that counts for several uses. One that counts for the next use alone is asked for, and not where it
    /// is typed on the reader or the token, which present it at once.
    func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard key.pinPolicy != .never else { return }
        var question = self.question(use, authentication)
        if key.pinPolicy == .once {
            // A PIN that another host presented does not count for this one.
            if (try? slot.isPINPresented()) == true { return }
            return try authentication.inTurn(of: slot) { hasWaited throws(KeychainError) in
                if hasWaited, (try? slot.isPINPresented()) == true { return }
                try question.present { (pin, lastTry) throws(TokenError) in
                    try slot.verify(pin, lastTry: lastTry, at: insertion)
                    // Kept for a card that has forgotten it by then.
                    if pin.origin == .given { authentication.setCredential(pin.secret.clone(), .pin) }
                }
                authentication.noteGiven(for: accessPlace)
            }
        }
        guard !slot.pinRules(at: insertion).isTypedOnToken, !slot.takesTypedPIN(at: insertion) else { return }
        authentication.setCredential(try question.ask().secret.clone(), .pin)
    }

    func checkPurpose(_ operation: KeyOperation) throws(KeychainError) {
        let (use, name): (TokenKey.Usage, String)
        switch operation {
        case .sign: (use, name) = (.sign, "signatures")
        case .decrypt: (use, name) = (.decrypt, "decryption")
        case .keyExchange: (use, name) = (.agree, "key agreement")
        case .verify, .encrypt: return
        }
        guard key.usage.subtracting(key.uses(with: certificate)).contains(use) else { return }
        throw KeychainError(
            .keyUsageIncorrect,
            "the key \(object.id) of '\(slot.knownLabel(at: insertion) ?? slot.name)' is not for \(name)",
            remedy: "'tokenctl find-key' shows what each key is for")
    }

    private func question(_ use: String, _ authentication: AuthenticationContext) -> PINQuestion {
        let purpose: LocalizedText =
            key.touchPolicy.mayWait
            ? "\(use) with key \(object.id) (then touch the card)" : "\(use) with key \(object.id)"
        return PINQuestion(
            .pin, use: String(localized: purpose), slot: slot, insertion: insertion,
            authentication: authentication)
    }

    private func touch(_ authentication: AuthenticationContext) -> OperationNotice {
        let name = slot.knownLabel(at: insertion) ?? slot.name
        return { [touch = TokenTraits.TouchUse(key.touchPolicy)] in
            let notice = TouchNotice(touch, of: name, authentication.prompter, authentication.notices)
            return { notice.end() }
        }
    }
}

extension TokenOperation.Action {
    fileprivate var operation: KeyOperation {
        switch self {
        case .sign: .sign
        case .decrypt: .decrypt
        case .agree: .keyExchange
        }
    }
}
