package import SecureBytes

extension PrivateKey {
    /// Performs, in software, a step that a card performs on the card.
    ///
    /// - Throws: `unsupported` for a step that consists of simpler ones.
    package func perform(_ step: AlgorithmStep, _ input: [UInt8]) throws(CryptoError) -> Secret {
        switch (step.operation, step.algorithm) {
        case (.sign, .signature(.rsaRaw)), (.decrypt, .encryption(.raw)): return try rsaPrivateOperation(input)
        case (.sign, .signature(let algorithm)):
            var signature = try sign(input, using: algorithm)
            return Secret(consuming: &signature)
        case (.decrypt, .encryption(let encryption)): return try decrypt(input, using: encryption)
        case (.keyExchange, .keyExchange(.standard, nil)):
            let peer = kind.isEC ? try PublicKey(ecPoint: input, curve: kind) : try PublicKey(raw: input, kind: kind)
            return try sharedSecret(with: peer)
        default: throw CryptoError(.unsupported, "\(step.algorithm) is no single operation of a key")
        }
    }
}
