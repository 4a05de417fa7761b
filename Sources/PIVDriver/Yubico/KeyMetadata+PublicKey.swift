internal import SecureBytes
internal import SystemCrypto

extension KeyMetadata {
    /// The public key as a DER SubjectPublicKeyInfo; nil for an algorithm without a name here, or invalid bytes.
    package var subjectPublicKeyInfo: [UInt8]? { algorithm.subjectPublicKeyInfo(publicKey) }
}

extension PIVAlgorithm {
    /// A public key as a DER SubjectPublicKeyInfo; nil for an algorithm without a name here, or invalid bytes.
    ///
    /// - Parameter template: `81` modulus and `82` exponent, or `86` point, as GENERATE ASYMMETRIC KEY PAIR returns them (SP 800-73-5
    ///   part 2 table 9).
    func subjectPublicKeyInfo(_ template: [UInt8]) -> [UInt8]? {
        var reader = TLVReader(template)
        guard let fields = try? reader.fields() else { return nil }
        let key: PublicKey?
        switch self {
        case .rsa1024, .rsa2048, .rsa3072, .rsa4096:
            key = try? PublicKey(rsaModulus: fields[0x81] ?? [], exponent: fields[0x82] ?? [])
        case .p256: key = try? PublicKey(ecPoint: fields[0x86] ?? [], curve: .ecP256)
        case .p384: key = try? PublicKey(ecPoint: fields[0x86] ?? [], curve: .ecP384)
        case .ed25519, .soloEd25519: key = try? PublicKey(raw: fields[0x86] ?? [], kind: .ed25519)
        case .x25519: key = try? PublicKey(raw: fields[0x86] ?? [], kind: .x25519)
        default: key = nil
        }
        return key?.spki
    }

    /// The inverse of ``subjectPublicKeyInfo(_:)``.
    static func template(of key: PublicKey) -> [UInt8] {
        guard let (modulus, exponent) = key.rsaComponents else { return TLV(0x86, key.rawRepresentation).encoded() }
        return TLV(0x81, modulus).encoded() + TLV(0x82, exponent).encoded()
    }
}
