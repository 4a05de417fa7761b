public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes
public import SystemCrypto
internal import TokenKit

extension Host {
    public func keys(
        matching query: KeyQuery, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeyDescription]> {
        // Known cards are not looked for.
        try visit(context, onToken: query.places == .knownTokens ? false : nil) { visit throws(KeychainError) in
            let outcome = try visit.session.searchList(for: query.places).keys(query.selector)
            let keys = outcome.found.compactMap { key -> KeyDescription? in
                guard let item = key.item, visit.session.accessGroups.allow(item) else { return nil }
                return KeyDescription(item, keychainName: key.keychainName, slotName: key.tokenSlot?.cryptokiName)
            }
            return Outcome(keys, missing: outcome.missing)
        }
    }

    public func askAhead(of action: GuardedAction, _ context: RequestContext) throws(KeychainError) {
        switch action {
        case .use(let key):
            try use(.item(key), context) { key, purpose, authentication throws(KeychainError) in
                guard case .pair(let key) = key else { return }
                try key.askAhead(use: purpose ?? String(localized: "use a key"), authentication: authentication)
            }
        case .change(let keychain):
            try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
                let keychain = try visit.session.keychain(keychain)
                try keychain.checkWritable()
                try keychain.unlock(
                    use: visit.use("change the keychain"), authentication: visit.session.authentication)
            }
        case .reading(let keychain):
            try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
                try visit.session.keychain(keychain).unlock(
                    use: visit.use("read its secrets"), authentication: visit.session.authentication)
            }
        }
    }

    public func vouching(
        for reference: PersistentReference, with der: [UInt8], _ context: RequestContext
    ) throws(KeychainError) -> Vouching {
        try visit(context, onToken: reference.tokenID != nil) { visit throws(KeychainError) in
            let item = try visit.session.item(reference)
            guard let keychain = try visit.session.keychain(of: item) as? LocalKeychain else {
                // The card itself vouches for what is on it.
                guard item.der == der else { throw KeychainError(.decode, "the card has another public half") }
                return .sealed
            }
            let authentication = visit.session.authentication
            if keychain.isLocked, authentication.prompter.canAsk {
                try keychain.unlock(use: visit.use("check a signature"), authentication: authentication)
            }
            return try keychain.vouching(for: reference, with: der)
        }
    }

    public func perform(_ request: KeyRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        try use(request.key, context, for: request) { (key, purpose, authentication) throws(KeychainError) in
            let use = purpose ?? request.standardUse
            guard let action = key.action(of: request) else {
                return try key.perform(request, for: use, authentication)
            }
            return try journal.noting(action, key.label, of: key.keychainName) { () throws(KeychainError) in
                try key.perform(request, for: use, authentication)
            }
        }
    }

    public func isSupported(
        _ algorithm: KeyAlgorithm, for operation: KeyOperation, by key: KeyRequest.Key, _ context: RequestContext
    ) throws(KeychainError) -> Bool {
        try use(key, context) { key, _, _ in key.isSupported(algorithm, for: operation) }
    }

    /// - Parameter body: is given the key, the purpose of the request, and the context that is asked for a PIN or password.
    private func use<Result: Sendable>(
        _ key: KeyRequest.Key, _ context: RequestContext, for request: KeyRequest? = nil,
        _ body: (UsableKey, _ purpose: String?, AuthenticationContext) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        switch key {
        case .given(let given):
            return try run(context) { ticket throws(KeychainError) in
                let (key, authentication) = (try UsableKey(given), try authentication(context, ticket))
                try ticket.check()
                return try body(key, context.purpose, authentication)
            }
        case .item(let reference):
            if let place = context.place, reference.itemClass == .key,
                let result = try usePrivateKey(reference, in: place, context, for: request, body)
            {
                return result
            }
            // An identity on a card may have its key in a file, and the other way round.
            let isOnToken = reference.itemClass == .key ? reference.tokenID != nil : nil
            return try visit(context, onToken: isOnToken) { visit throws(KeychainError) in
                let key = try UsableKey(reference, in: visit.session)
                try visit.ticket.check()
                return try body(key, visit.purpose, visit.session.authentication)
            }
        }
    }
}

extension Host {
    /// Uses a private key of a place, of which nothing is searched; nil where it has no private key of that reference.
    private func usePrivateKey<Result: Sendable>(
        _ reference: PersistentReference, in place: String, _ context: RequestContext, for request: KeyRequest?,
        _ body: (UsableKey, _ purpose: String?, AuthenticationContext) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result? {
        try visit(place: place, context) { (place, ticket, authentication) throws(KeychainError) in
            guard let key = try place.key(reference, for: request) else { return nil }
            if let item = key.item, !accessGroups.allow(item) { return nil }
            try ticket.check()
            return try body(.pair(key), context.purpose, authentication)
        }
    }
}

/// The key of a request: a key pair, the public half of one alone, or a symmetric key.
private enum UsableKey {
    case pair(any KeychainKey)
    case publicHalf(PublicKey)
    case symmetric(SymmetricKey)

    /// Of a card, only the key is read.
    init(_ reference: PersistentReference, in session: KeychainSession) throws(KeychainError) {
        if reference.itemClass == .key, reference.tokenID != nil,
            let key = try session.searchList.keys(.reference(reference)).found.first
        {
            self = .pair(key)
            return
        }
        let item = try session.keyItem(reference)
        if item.isSymmetricKey {
            self = .symmetric(try session.symmetricKey(of: item))
        } else if item.isPrivateKey {
            self = .pair(try session.key(of: item))
        } else {
            self = .publicHalf(try UsableKey.publicKey(item.der))
        }
    }

    /// - Throws: `errSecParam` for what is no key; `errSecDecode`.
    init(_ given: GivenKey) throws(KeychainError) {
        let type = KeyType(rawValue: given.attributes[.keyType]?.integer ?? 0)
        switch (given.attributes[.keyClass]?.integer.flatMap(KeyClass.init(rawValue:)), given.secret) {
        case (.public, _): self = .publicHalf(try UsableKey.publicKey(given.der))
        case (.private, let pkcs8?):
            self = .pair(
                SoftwareKey(
                    try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: pkcs8.secret) }))
        case (.symmetric, let bytes?):
            self = .symmetric(try SymmetricKey(bytes.secret.clone(), type: type, given.attributes))
        default: throw KeychainError(.param, "the key is given without its data", key: "key")
        }
    }

    private static func publicKey(_ der: [UInt8]?) throws(KeychainError) -> PublicKey {
        try KeychainError.mapping { () throws(CryptoError) in try PublicKey(spki: der ?? []) }
    }

    /// The action that the journal has of a request; nil for one with a key that the client gave, or with a public half.
    func action(of request: KeyRequest) -> JournalEntry.Action? {
        guard case .item = request.key else { return nil }
        switch (self, request.operation) {
        case (.publicHalf, _), (.pair, .verify), (.pair, .encrypt): return nil
        case (_, .sign), (.symmetric, .verify): return .sign
        case (_, .decrypt): return .decrypt
        case (_, .exchange): return .agree
        case (.symmetric, .encrypt): return .encrypt
        }
    }

    var label: String {
        switch self {
        case .pair(let key): key.item?.label ?? key.name
        case .publicHalf: ""
        case .symmetric(let key): key.label
        }
    }

    var keychainName: String? {
        switch self {
        case .pair(let key): key.keychainName
        case .publicHalf: nil
        case .symmetric(let key): key.keychainName
        }
    }

    func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        switch self {
        case .pair(let key): key.isSupported(algorithm, for: operation)
        case .publicHalf(let key): key.isSupported(algorithm, for: operation)
        case .symmetric(let key): key.isSupported(algorithm, for: operation)
        }
    }

    func perform(
        _ request: KeyRequest, for purpose: String, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> SharedSecret {
        let algorithm = request.algorithm
        switch (self, request.operation) {
        case (.pair(let key), .sign(let input)):
            return .of(try key.sign(input, using: algorithm, use: purpose, authentication: authentication))
        case (.pair(let key), .decrypt(let ciphertext)):
            return SharedSecret(
                try key.decrypt(ciphertext, using: algorithm, use: purpose, authentication: authentication))
        case (.pair(let key), .exchange(let peer, let parameters)):
            return SharedSecret(
                try key.keyExchange(
                    with: peer, using: algorithm, parameters, use: purpose, authentication: authentication))
        case (.pair(let key), .verify(let signature, let input)):
            return try .verified(try key.verify(signature, of: input, using: algorithm))
        case (.pair, .encrypt(let plaintext)), (.publicHalf, .encrypt(let plaintext)),
            (.symmetric, .encrypt(let plaintext)):
            return .of(try encrypt(plaintext.secret, algorithm, purpose, authentication))
        case (.publicHalf(let key), .verify(let signature, let input)):
            return try .verified(try key.verify(signature, of: input, using: algorithm))
        case (.publicHalf, .sign), (.publicHalf, .decrypt), (.publicHalf, .exchange):
            throw KeychainError(.param, "a public key cannot \(request.standardUse)", key: "key")
        case (.symmetric(let key), .sign(let message)):
            return .of(try key.sign(message, using: algorithm, use: purpose, authentication: authentication))
        case (.symmetric(let key), .verify(let code, let message)):
            return try .verified(
                try key.verify(code, of: message, using: algorithm, use: purpose, authentication: authentication))
        case (.symmetric(let key), .decrypt(let ciphertext)):
            return SharedSecret(
                try key.decrypt(ciphertext, using: algorithm, use: purpose, authentication: authentication))
        case (.symmetric, .exchange):
            throw KeychainError(.param, "a symmetric key agrees on no secret", key: "algorithm")
        }
    }

    private func encrypt(
        _ plaintext: borrowing Secret, _ algorithm: KeyAlgorithm, _ purpose: String,
        _ authentication: AuthenticationContext
    ) throws(KeychainError) -> [UInt8] {
        let bytes = plaintext.bytes
        switch self {
        case .pair(let key): return try key.encrypt(bytes, using: algorithm)
        case .publicHalf(let key): return try key.encrypt(bytes, using: algorithm)
        case .symmetric(let key):
            return try key.encrypt(bytes, using: algorithm, use: purpose, authentication: authentication)
        }
    }
}

extension KeyRequest {
    /// The use in words that complete "PIN to …".
    fileprivate var standardUse: String {
        switch operation {
        case .sign: "sign"
        case .verify: "check a signature"
        case .encrypt: "encrypt"
        case .decrypt: "decrypt"
        case .exchange: "agree on a key"
        }
    }
}

extension SharedSecret {
    /// Bytes that are not secret.
    fileprivate static func of(_ bytes: [UInt8]) -> SharedSecret { SharedSecret(Secret(copying: bytes.span)) }

    /// - Throws: `errSecVerifyFailed`.
    fileprivate static func verified(_ isValid: Bool) throws(KeychainError) -> SharedSecret {
        guard isValid else { throw KeychainError(.verifyFailed, "the signature is not the key's over these data") }
        return .of([])
    }
}
