package import SecureBytes

/// An operation of a private key by an algorithm, and its reduction to a simpler one: message → digest → padded block → the bare
/// operation.
///
/// The owner of a key lets it perform the first step that it supports, and performs the steps around that itself.
package struct AlgorithmStep: Sendable, Hashable {
    package let algorithm: KeyAlgorithm
    package let operation: KeyOperation

    package init(_ operation: KeyOperation, _ algorithm: KeyAlgorithm) {
        self.algorithm = algorithm
        self.operation = operation
    }

    /// The next simpler step. Nil for a bare operation, and for an operation that the algorithm does not have.
    package var simpler: AlgorithmStep? {
        switch (operation, algorithm) {
        case (.sign, .messageSignature(let signature)): AlgorithmStep(.sign, .signature(signature))
        case (.sign, .signature(let signature)): signature.simpler.map { AlgorithmStep(.sign, .signature($0)) }
        case (.decrypt, .rsaHybrid(let digest)): AlgorithmStep(.decrypt, .encryption(.oaep(digest)))
        case (.decrypt, .encryption(.pkcs1)), (.decrypt, .encryption(.oaep)):
            AlgorithmStep(.decrypt, .encryption(.raw))
        case (.decrypt, .ecies(let agreement, let digest, _)):
            AlgorithmStep(.keyExchange, .keyExchange(agreement, digest))
        case (.keyExchange, .keyExchange(.cofactor, let digest)):
            AlgorithmStep(.keyExchange, .keyExchange(.standard, digest))
        case (.keyExchange, .keyExchange(.standard, .some)):
            AlgorithmStep(.keyExchange, .keyExchange(.standard, nil))
        default: nil
        }
    }

    /// Checks the input of a step that a key does itself.
    ///
    /// - Throws: `invalidLength` for an input that does not fit the algorithm and the key.
    package func check(_ input: [UInt8], for key: PublicKey) throws(CryptoError) {
        guard case .signature(let signature) = algorithm else { return }
        _ = try signature.bareInput(of: input, for: key.kind)
    }

    // MARK: Around the next simpler step

    /// The input of the next step.
    ///
    /// - Throws: `invalidLength` for an input that does not fit the algorithm and the key.
    package func prepare(_ input: [UInt8], for key: PublicKey) throws(CryptoError) -> [UInt8] {
        switch algorithm {
        case .messageSignature(let signature):
            guard let digest = signature.digestAlgorithm else { return input }
            return try Digest.hash(input, using: digest)
        case .signature(let signature): return try signature.prepare(input, for: key.kind)
        case .rsaHybrid, .ecies: return try Hybrid.split(input, for: key, algorithm).key
        default: return input
        }
    }

    /// The parameters of the next step.
    package func parametersOfNext(
        _ parameters: KeyExchangeParameters, input: [UInt8], for key: PublicKey
    ) throws(CryptoError) -> KeyExchangeParameters {
        guard case .ecies(_, _, let vector) = algorithm else { return parameters }
        let ephemeral = try Hybrid.split(input, for: key, algorithm).key
        return Hybrid.parameters(parameters, ephemeral: ephemeral, for: key, vector)
    }

    /// The step's result, from the next step's.
    ///
    /// - Parameter input: the input of this step.
    /// - Throws: `decryptionFailed`, `authenticationFailed`; `invalidLength` for a derivation without a size.
    package func finish(
        _ result: consuming Secret, of input: [UInt8], for key: PublicKey, _ parameters: KeyExchangeParameters
    ) throws(CryptoError) -> Secret {
        switch (operation, algorithm) {
        case (.sign, .signature(.ecdsa(let digest, .rfc4754))):
            let form = SignatureAlgorithm.ecdsa(digest, .rfc4754)
            var signature = try form.signature(fromBare: result.copied(), of: key.kind)
            return Secret(consuming: &signature)
        case (.decrypt, .encryption(let encryption)): return try encryption.plaintext(in: result, ciphertext: input)
        case (.decrypt, .rsaHybrid):
            let sealed = try Hybrid.split(input, for: key, algorithm).sealed
            return try Hybrid.open(sealed, sessionKey: result, for: key)
        case (.decrypt, .ecies(_, _, let vector)):
            return try Hybrid.open(try Hybrid.split(input, for: key, algorithm).sealed, derived: result, vector)
        case (.keyExchange, .keyExchange(.standard, let digest?)):
            return try parameters.derive(from: result, using: digest)
        default: return result
        }
    }
}

/// The parameters of a key exchange that both sides agree on: Apple's `SecKeyKeyExchangeParameter`.
public struct KeyExchangeParameters: Sendable, Hashable {
    /// The bytes that the derivation shall give. Required by algorithms with a derivation.
    public var requestedSize: Int?

    /// The shared information of the key derivation.
    public var sharedInfo: [UInt8]

    public init(requestedSize: Int? = nil, sharedInfo: [UInt8] = []) {
        self.requestedSize = requestedSize
        self.sharedInfo = sharedInfo
    }

    func derive(from secret: borrowing Secret, using digest: DigestAlgorithm) throws(CryptoError) -> Secret {
        guard let requestedSize else { throw CryptoError(.invalidLength, "key derivation without a requested size") }
        return try X963KDF.deriveKey(from: secret, sharedInfo: sharedInfo, count: requestedSize, using: digest)
    }
}

extension PublicKey {
    /// Bytes of the modulus, or of a coordinate: `SecKeyGetBlockSize`.
    public var blockLength: Int { ((kind.bits ?? 0) + 7) / 8 }
}
