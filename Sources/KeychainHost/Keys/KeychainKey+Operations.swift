public import KeychainModel
internal import Localization
public import SecureBytes
public import SystemCrypto
internal import TokenKit

/// The purpose of an operation, and the context that is asked for a PIN or password.
private struct Use {
    let description: String
    let authentication: AuthenticationContext
}

/// The operations of Apple's `SecKey` for every key: an operation that a key does not do itself is built from one that it does.
extension KeychainKey {
    /// Whether the algorithm can be used with this key. Asks no person and no card.
    public func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard let key = try? PublicKey(spki: publicKey) else { return false }
        switch operation {
        case .verify, .encrypt: return key.isSupported(algorithm, for: operation)
        case .sign, .decrypt, .keyExchange:
            return algorithm.suits(key.kind) && reaches(AlgorithmStep(operation, algorithm))
        }
    }

    /// Signs a message or a digest.
    ///
    /// - Parameter use: completes "PIN to …".
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or input of the wrong length.
    public func sign(
        _ input: [UInt8], using algorithm: KeyAlgorithm, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> [UInt8] {
        let use = Use(description: use, authentication: authentication)
        guard case .messageSignature = algorithm, CertificationMessage.isAbout(publicKey, input) else {
            return try run(algorithm, .sign, input, KeyExchangeParameters(), use).copied()
        }
        // The signature proves possession of the key to who certifies it (RFC 2986), whatever the key is for otherwise.
        return try forAnyPurpose.run(algorithm, .sign, input, KeyExchangeParameters(), use).copied()
    }

    /// Decrypts.
    ///
    /// - Parameter sharedInfo: for ECIES, data that both sides know besides their keys.
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a ciphertext of an impossible length;
    ///   `errSecDecode` for one that does not open.
    public func decrypt(
        _ ciphertext: [UInt8], using algorithm: KeyAlgorithm, sharedInfo: [UInt8] = [], use: String,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try algorithm.checkTakes(sharedInfo)
        return try run(
            algorithm, .decrypt, ciphertext, KeyExchangeParameters(sharedInfo: sharedInfo),
            Use(description: use, authentication: authentication))
    }

    /// Agrees on a secret with the holder of another key.
    ///
    /// - Parameter peer: the other's public key: `04‖X‖Y`, or the 32 bytes of X25519.
    /// - Throws: `errSecParam` for an algorithm that is not this key's, a peer of another curve, or a missing size.
    public func keyExchange(
        with peer: [UInt8], using algorithm: KeyAlgorithm, _ parameters: KeyExchangeParameters = .init(), use: String,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let kind = try parsedPublicKey().kind
        let curves: [KeyKind] = [.ecP256, .ecP384, .ecP521, .x25519]
        if curves.contains(kind), let other = curves.first(where: { $0.point(in: peer) == peer }), other != kind {
            throw .differentCurves(kind, other)
        }
        return try run(algorithm, .keyExchange, peer, parameters, Use(description: use, authentication: authentication))
    }

    /// Whether a signature is this key's. That needs neither card nor password.
    public func verify(
        _ signature: [UInt8], of input: [UInt8], using algorithm: KeyAlgorithm
    ) throws(KeychainError) -> Bool {
        try parsedPublicKey().verify(signature, of: input, using: algorithm)
    }

    /// Encrypts for this key. That needs neither card nor password.
    public func encrypt(
        _ plaintext: Span<UInt8>, using algorithm: KeyAlgorithm, sharedInfo: [UInt8] = []
    ) throws(KeychainError) -> [UInt8] {
        try parsedPublicKey().encrypt(plaintext, using: algorithm, sharedInfo: sharedInfo)
    }

    // MARK: The chain

    /// Whether the key does the step itself, or a simpler one that the step reduces to.
    private func reaches(_ step: AlgorithmStep) -> Bool {
        does(step) || step.simpler.map { reaches($0) } ?? false
    }

    private func does(_ step: AlgorithmStep) -> Bool {
        TokenOperation.Action(step, []) != nil && offers(step.algorithm, for: step.operation)
    }

    private func run(
        _ algorithm: KeyAlgorithm, _ operation: KeyOperation, _ input: [UInt8], _ parameters: KeyExchangeParameters,
        _ use: Use
    ) throws(KeychainError) -> Secret {
        let key = try parsedPublicKey()
        try checkPurpose(operation)
        guard isSupported(algorithm, for: operation) else { throw algorithm.isNot(for: operation, key.kind) }
        if operation == .decrypt, case .encryption = algorithm { try key.checkLength(ofCiphertext: input.count) }
        return try run(AlgorithmStep(operation, algorithm), input, parameters, key, use)
    }

    private func run(
        _ step: AlgorithmStep, _ input: [UInt8], _ parameters: KeyExchangeParameters, _ key: PublicKey, _ use: Use
    ) throws(KeychainError) -> Secret {
        if does(step), let action = TokenOperation.Action(step, input) {
            // The input is checked completely before a person is asked for a PIN.
            try KeychainError.mapping { () throws(CryptoError) in try step.check(input, for: key) }
            return try perform(action, use: use.description, authentication: use.authentication)
        }
        guard let simpler = step.simpler else { throw step.algorithm.isNot(for: step.operation, key.kind) }
        let (prepared, inner) = try KeychainError.mapping { () throws(CryptoError) in
            (try step.prepare(input, for: key), try step.parametersOfNext(parameters, input: input, for: key))
        }
        let result = try run(simpler, prepared, inner, key, use)
        do throws(CryptoError) {
            return try step.finish(result, of: input, for: key, parameters)
        } catch {
            throw KeychainError(error)
        }
    }

    private func parsedPublicKey() throws(KeychainError) -> PublicKey {
        try KeychainError.mapping { () throws(CryptoError) in try PublicKey(spki: publicKey) }
    }
}

extension KeyAlgorithm {
    /// - Throws: `errSecParam` for shared information that the algorithm has no use for.
    func checkTakes(_ sharedInfo: [UInt8]) throws(KeychainError) {
        if case .ecies = self { return }
        guard sharedInfo.isEmpty else {
            throw KeychainError(.param, "\(self) takes no shared information", key: "sharedInfo")
        }
    }

    func isNot(for operation: KeyOperation, _ kind: some CustomStringConvertible) -> KeychainError {
        KeychainError(.param, "a key of kind \(kind) cannot \(operation.verb) with \(self)", key: "algorithm")
    }
}

extension KeyOperation {
    fileprivate var verb: String { self == .keyExchange ? "exchange keys" : "\(self)" }
}
