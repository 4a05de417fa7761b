public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// A file of certificates and keys that is read, and whose content goes to a keychain where one is named.
///
/// Its format follows from its bytes: PEM, DER, PKCS #7, #8 and #12, and those of OpenSSH.
public struct ImportRequest: Sendable, Equatable {
    /// The types of items that are wanted, named as the `-t` option of macOS's `security import`; `agg` is all of them.
    public enum Kind: String, CaseIterable, Sendable {
        case pub, priv, session, cert, agg
    }

    /// The format that a file must have, named as the `-f` option of `security import`.
    public enum Format: String, CaseIterable, Sendable {
        case openssl, pkcs7, pkcs8, pkcs12, pemseq, x509, openssh2
    }

    /// The keychain that takes the content, all of it or nothing.
    public struct Target: Sendable, Equatable {
        public let keychain: KeychainIdentifier
        /// The attributes of new certificates. Each attribute here and in ``keys`` is one that something in the file can have.
        public var certificates: Attributes = [:]
        /// The attributes of new keys. Without a label among them, a private key gets its friendly name in the file, or its
        /// certificate's common name.
        public var keys: Attributes = [:]
        /// Further attributes of new private keys.
        public var privateKeys: Attributes = [:]
        /// Whether a private key that the keychain has already must be protected as new ones are to be.
        public var requiresProtection = false

        public init(_ keychain: KeychainIdentifier) {
            self.keychain = keychain
        }
    }

    /// The maximum length of a file in bytes.
    public static let maximumLength = 16 << 20

    /// The file's bytes.
    public let file: SharedSecret
    /// The file's name, for prompts and errors.
    public let name: String
    /// The wanted types. PKCS #12 is always read as a whole.
    public var kind = Kind.agg
    /// Nil for any.
    public var format: Format?
    public var passphrase = PassphraseSource.none
    /// Whether a file with more than one private key is refused.
    public var refusesSeveralKeys = false
    /// Nil for a file that is only read.
    public var target: Target?

    public init(_ file: SharedSecret, named name: String) {
        (self.file, self.name) = (file, name)
    }
}

/// The source of a file's passphrase.
public enum PassphraseSource: Sendable, Equatable {
    /// No passphrase: what needs one is an error.
    case none
    case given(SharedSecret)
    /// A person is asked, once the passphrase is needed.
    case asked
}

/// The content of an imported file.
public struct ImportedContent: Sendable, Equatable {
    /// The format that the file has.
    public enum Format: UInt8, Sendable, CaseIterable {
        case pem = 1
        case x509 = 2
        case pkcs7 = 3
        case pkcs12 = 4
        /// A key in another form.
        case key = 5
    }

    public enum Content: Sendable, Equatable {
        /// The private keys are in PKCS #8.
        case objects([Certificate], [PublicKey], privateKeys: [SharedSecret])
        /// The items of the keychain that took the file: certificates, public keys and private keys, in this order.
        case items([ImportedItem])
    }

    public let format: Format
    /// The labels of the PEM blocks that cannot be imported.
    public let others: [String]
    public let content: Content

    public init(_ format: Format, _ content: Content, others: [String] = []) {
        (self.format, self.content, self.others) = (format, content, others)
    }
}

/// An item of a keychain that has the content of a file.
public struct ImportedItem: Sendable, Equatable {
    public let item: Item
    /// Whether it was added; an item that was there before is unchanged.
    public let isNew: Bool

    public init(_ item: Item, isNew: Bool) {
        (self.item, self.isNew) = (item, isNew)
    }
}
