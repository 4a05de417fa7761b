public import SystemCrypto

/// The purpose of a certificate: the part of Apple's policies that one certificate alone can answer, by its key usage
/// (RFC 5280 §4.2.1.3) and extended key usage (§4.2.1.12). Neither time nor trust is looked at.
public enum CertificatePolicy: String, Sendable, Hashable, CaseIterable {
    /// Anything.
    case basicX509 = "basic"
    case tlsServer = "ssl-server"
    case tlsClient = "ssl-client"
    case smime
    case codeSigning = "code-signing"

    /// Whether a certificate may be used for this.
    public func accepts(_ certificate: Certificate) -> Bool {
        guard let purpose else { return true }
        if let uses = certificate.keyUsage, uses.isDisjoint(with: keyUsage) { return false }
        // A certificate without purposes is for all of them except code signing.
        guard let purposes = certificate.extendedKeyUsage else { return self != .codeSigning }
        return purposes.contains(purpose) || (self != .codeSigning && purposes.contains(.anyExtendedKeyUsage))
    }

    private var purpose: OID? {
        switch self {
        case .basicX509: nil
        case .tlsServer: .serverAuthentication
        case .tlsClient: .clientAuthentication
        case .smime: .emailProtection
        case .codeSigning: .codeSigning
        }
    }

    /// The key usages of which the certificate needs one.
    private var keyUsage: KeyUsage {
        switch self {
        case .basicX509: []
        case .tlsServer: [.digitalSignature, .keyEncipherment, .keyAgreement]
        case .tlsClient: [.digitalSignature, .keyAgreement]
        case .smime: [.digitalSignature, .nonRepudiation, .keyEncipherment, .dataEncipherment, .keyAgreement]
        case .codeSigning: [.digitalSignature]
        }
    }
}
