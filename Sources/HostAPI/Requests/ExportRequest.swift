public import SystemCrypto

/// Certificates and keys to be written as a file.
public struct ExportRequest: Sendable, Equatable {
    public enum Format: UInt8, Sendable, CaseIterable {
        /// Certificates; several of them as PEM alone.
        case x509 = 1
        /// Certificates.
        case pkcs7 = 2
        /// Private keys with their certificates, and further certificates.
        case pkcs12 = 3
        /// Anything, as PEM. Private keys are encrypted only where there is a passphrase.
        case pemSequence = 4
        /// Keys, unencrypted: SubjectPublicKeyInfo; PKCS #1, SEC 1 or PKCS #8; several as PEM alone.
        case openssl = 5
        /// Private keys, encrypted; several as PEM alone.
        case pkcs8 = 6
        /// Keys as OpenSSH has them, private ones encrypted.
        case openssh = 7
    }

    /// An object, and its name: the friendly name of a PKCS #12 file, the comment of OpenSSH.
    public enum Object: Sendable, Equatable {
        case certificate(Certificate, name: String? = nil)
        case publicKey(PublicKey, name: String? = nil)
        case privateKey(KeyRequest.Key, name: String? = nil)
    }

    public let objects: [Object]
    public let format: Format
    /// Whether the file is PEM where the format has two forms.
    public var isArmored = false
    public var passphrase = PassphraseSource.none
    /// The name of what is exported, for the prompt.
    public var subject = "the exported keys"

    public init(_ objects: [Object], as format: Format) {
        (self.objects, self.format) = (objects, format)
    }
}
