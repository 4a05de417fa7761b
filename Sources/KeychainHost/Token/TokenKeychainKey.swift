internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A private key on a card, whether or not the card is in a reader.
protocol TokenObjectKey: KeychainKey {
    var object: TokenObject { get }
    var key: TokenKey { get }
}

extension TokenObjectKey {
    var name: String { object.id.rawValue }
    var publicKey: [UInt8] { key.publicKey }
    var certificate: [UInt8]? { object.certificate }

    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        key.offers(algorithm, for: operation)
    }
}

/// A private key on the card that was in a reader when the key was listed.
struct TokenKeychainKey: TokenObjectKey {
    let slot: any TokenBackend
    let insertion: TokenInsertion
    let object: TokenObject
    let key: TokenKey

    var keychainName: String { slot.name }
    var tokenSlot: (any TokenBackend)? { slot }

    /// Uses a PIN that was verified in this session where the key's policy lets it, else asks for the PIN and presents
    /// it in the transaction of the operation.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let operation = TokenOperation(key: object.id, action: action, publicKey: publicKey)
        let touch = self.touch(authentication.prompter)
        do throws(TokenError) {
            return try slot.perform(operation, at: insertion, notice: touch)
        } catch  where error.code == .pinRequired {
            // The card is free from here on until the PIN is there.
        } catch {
            throw KeychainError(error)
        }
        var question = self.question(use, authentication)
        return try question.present { (pin, lastTry) throws(TokenError) in
            // While a PIN is typed on the reader, the card waits for it and not for a touch.
            let notice = pin.origin == .typed ? nil : touch
            return try slot.perform(operation, presenting: pin, lastTry: lastTry, at: insertion, notice: notice)
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
            let status = try? slot.status(of: .pin, at: insertion, isBeforePIN: false)
            if status?.isVerified == true { return }
            return try question.present { (pin, lastTry) throws(TokenError) in
                try slot.verify(pin, lastTry: lastTry, at: insertion)
                // Kept for a card that has forgotten it by then.
                if pin.origin == .given { authentication.setCredential(pin.secret.clone(), .pin) }
            }
        }
        guard !slot.pinRules(at: insertion).isTypedOnToken, !slot.takesTypedPIN(at: insertion) else { return }
        authentication.setCredential(try question.ask().secret.clone(), .pin)
    }

    private func question(_ use: String, _ authentication: AuthenticationContext) -> PINQuestion {
        let wait = key.touchPolicy.mayWait ? " (then touch the card)" : ""
        return PINQuestion(
            .pin, use: "\(use) with key \(object.id)\(wait)", slot: slot, insertion: insertion,
            authentication: authentication)
    }

    private func touch(_ prompter: any Prompter) -> OperationNotice {
        let name = slot.knownLabel(at: insertion) ?? slot.name
        return { [touch = TokenTraits.TouchUse(key.touchPolicy)] in
            let notice = TouchNotice(touch, of: name, prompter)
            return { notice.end() }
        }
    }
}

extension TokenKey {
    /// Whether the token's driver does the algorithm. The driver pads; hashing a message and deriving a key are done outside of it.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        switch (operation, algorithm) {
        case (.sign, .signature): usage.contains(.sign)
        case (.decrypt, .encryption): usage.contains(.decrypt)
        case (.keyExchange, .keyExchange(.standard, nil)): usage.contains(.agree)
        default: false
        }
    }
}
