internal import SystemCrypto

/// The certification authority of a virtual card.
struct CertificateAuthority {
    /// From the first of January 2024 to the last of December 2043.
    private static let validity: (from: Int64, to: Int64) = (1_704_067_200, 2_335_219_199)

    let certificate: Certificate
    private let key: PrivateKey

    init(name: String) throws(CryptoError) {
        key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: CertificateAuthority.validity.from,
            notAfter: CertificateAuthority.validity.to)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        certificate = try builder.selfSigned(by: key)
    }

    /// The certificate of a key, for the use that its reference has.
    func issue(
        _ publicKey: PublicKey, at reference: CardKeyReference, holder: String, guid: [UInt8]
    ) throws(CryptoError) -> Certificate {
        var builder = try CertificateBuilder(
            commonName: reference.isRetired ? "\(holder) (key \(reference))" : holder, publicKey: publicKey,
            notBefore: certificate.notBefore, notAfter: certificate.notAfter)
        let address = holder.lowercased().split(separator: " ").joined(separator: ".") + "@example.com"
        switch reference {
        case .authentication:
            builder.keyUsage = .digitalSignature
            builder.extendedKeyUsage = [.clientAuthentication, .smartCardLogon]
            builder.subjectAlternativeNames = [.userPrincipalName(address), .uri(CertificateAuthority.urn(guid))]
        case .signature:
            builder.keyUsage = publicKey.kind == .x25519 ? .keyAgreement : [.digitalSignature, .nonRepudiation]
            builder.extendedKeyUsage = [.emailProtection]
            builder.subjectAlternativeNames = [.email(address)]
        case .cardAuthentication:
            builder.keyUsage = .digitalSignature
            builder.extendedKeyUsage = [.pivCardAuthentication]
            builder.subjectAlternativeNames = [.uri(CertificateAuthority.urn(guid))]
        default:
            builder.keyUsage = CertificateAuthority.managementUsage(publicKey.kind)
            builder.extendedKeyUsage = [.emailProtection]
            builder.subjectAlternativeNames = [.email(address)]
        }
        return try builder.issued(by: certificate, key: key)
    }

    private static func managementUsage(_ kind: KeyKind) -> KeyUsage {
        switch kind {
        case .rsa: .keyEncipherment
        case .ed25519: .digitalSignature
        default: .keyAgreement
        }
    }

    /// A GUID as a URN (RFC 4122 §3).
    private static func urn(_ guid: [UInt8]) -> String {
        var text = "urn:uuid:"
        for (index, byte) in guid.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            let digits = String(byte, radix: 16)
            text += digits.count == 1 ? "0" + digits : digits
        }
        return text
    }
}
