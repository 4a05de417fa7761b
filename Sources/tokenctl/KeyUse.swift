internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

/// The use of keys for one purpose of a command. A PIN that is asked for ahead of a use counts for it.
struct KeyUse {
    private let host: any KeychainService
    private let context: RequestContext

    init(_ host: any KeychainService, _ context: RequestContext) {
        (self.host, self.context) = (host, context)
    }

    func askAhead(_ key: Item) throws(KeychainError) { try host.askAhead(of: .use(of: key.reference), context) }

    func perform(
        _ operation: KeyRequest.Operation, _ algorithm: KeyAlgorithm, with key: Item
    ) throws(KeychainError) -> SharedSecret {
        try host.perform(KeyRequest(operation, algorithm, with: key.reference), context)
    }

    /// Encrypts for the holder of a key's private half.
    func encrypt(
        _ message: [UInt8], _ algorithm: KeyAlgorithm, for key: PublicKey
    ) throws(KeychainError) -> [UInt8] {
        let message = SharedSecret(Secret(copying: message.span))
        let request = KeyRequest(.encrypt(message), algorithm, with: .given(GivenKey(try .publicKey(key))))
        return try host.perform(request, context).secret.copied()
    }

    /// Asks for the password of a locked keychain where a person can be asked.
    func vouching(for item: Item, with der: [UInt8]) throws(KeychainError) -> Vouching {
        try host.vouching(for: item.reference, with: der, context)
    }
}

extension Item {
    var keyType: KeyType { KeyType(rawValue: self[.keyType]?.integer ?? 0) }
}
