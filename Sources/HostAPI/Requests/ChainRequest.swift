public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// A certificate to be judged: whether a chain leads from it to a trusted one, RFC 5280 §6. Purposes and names are not looked at.
public struct ChainRequest: Sendable, Equatable {
    /// Lists of revoked certificates, which each issuer of the chain may have.
    public struct Revocation: Sendable, Equatable {
        /// Files with lists, PEM or DER. They are long rather than secret.
        public let files: [SharedSecret]
        /// Whether each issuer of the chain must have a list.
        public let isRequired: Bool

        public init(files: [SharedSecret], isRequired: Bool) {
            self.files = files
            self.isRequired = isRequired
        }
    }

    public let certificate: Certificate
    /// Further certificates for the chain, which are not trusted.
    public var helpers: [Certificate]
    /// The keychains in files whose certificates help as well; nil for those of the search list.
    public var keychains: [KeychainIdentifier]?
    /// The certificates that are trusted beside the system's.
    public var anchors: [Certificate] = []
    /// Whether the system's roots are trusted.
    public var trustsSystem = true
    /// Whether a chain may end at a trusted certificate that is not self-signed.
    public var endsAtAnyAnchor = false
    /// The time at which the chain must be valid, in seconds since 1970; nil for the present time.
    public var time: Int64?
    /// The required strength of keys and signatures, by SSL_CTX_set_security_level(3); nil for OpenSSL's default.
    public var securityLevel: Int32?
    /// Nil for no check of revocation.
    public var revocation: Revocation?

    public init(_ certificate: Certificate, helpers: [Certificate] = []) {
        (self.certificate, self.helpers) = (certificate, helpers)
    }
}
