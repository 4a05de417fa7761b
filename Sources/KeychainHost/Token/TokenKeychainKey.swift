internal import SystemCrypto
internal import TokenKit

/// A private key on a card, be it in a reader or not.
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
    let slot: TokenSlot
    let insertion: TokenSlot.Insertion
    let object: TokenObject
    let key: TokenKey

    var keychainName: String { slot.name }
    var tokenSlot: TokenSlot? { slot }

    /// Uses what was verified in this session where the key's policy lets it, else asks for the PIN and presents it in
    /// the transaction of the operation.
    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let operation = TokenOperation(key: object.id, action: action, publicKey: publicKey)
        do throws(TokenError) {
            return try slot.perform(at: insertion) { (token, card) throws(TokenError) in
                try token.perform(operation, &card)
            }
        } catch  where error.code == .pinRequired {
            // Nobody holds the card from here on until the PIN is there.
        } catch {
            throw KeychainError(error)
        }
        var question = PINQuestion(
            .pin, use: "\(use) with key \(object.id)", slot: slot, insertion: insertion, authentication: authentication)
        while true {
            let pin = try question.ask()
            do throws(TokenError) {
                return try slot.perform(at: insertion) { (token, card) throws(TokenError) in
                    try token.perform(operation, presenting: pin, lastTry: question.lastTry, &card)
                }
            } catch {
                try question.answer(failedWith: error)
            }
        }
    }
}

extension TokenKey {
    /// A token does the bare operations; padding and hashing are done here.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        switch (operation, algorithm.scheme) {
        case (.sign, .rsaSignatureRaw), (.sign, .ecdsa(.digest, nil, .x962)), (.sign, .ed25519): usage.contains(.sign)
        case (.decrypt, .rsaEncryption(.raw)): usage.contains(.decrypt)
        case (.keyExchange, .keyExchange(.standard, nil)): usage.contains(.agree)
        default: false
        }
    }
}
