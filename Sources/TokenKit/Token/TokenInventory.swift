public import SecureBytes
public import SystemCrypto

/// The name of an object on its token, in the token's own terms, such as `9A`.
public struct TokenObjectID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public init(_ rawValue: String) {
        self.init(rawValue: rawValue)
    }

    public var description: String { rawValue }
}

/// The part of a token that a query needs.
public enum TokenSelection: Hashable, Sendable {
    case object(TokenObjectID)
    /// The key of an object. Its certificate is read only where the key cannot be known otherwise.
    case key(TokenObjectID)
    /// A private key for a signature, as remembered from the last reading of the token if possible. A key that is gone shows by a
    /// failing signature.
    case privateKey(TokenObjectID)
    case all
}

/// The objects of a token, or the selected part of them, in the order that the token's kind prescribes.
public struct TokenInventory: Hashable, Sendable {
    public var objects: [TokenObject]

    /// The objects that could not be read, and the errors; the rest is listed all the same.
    public var failures: [TokenObjectID: TokenError]

    public init(objects: [TokenObject] = [], failures: [TokenObjectID: TokenError] = [:]) {
        self.objects = objects
        self.failures = failures
    }
}

/// A certificate, a key, or both, under one name on the token.
public struct TokenObject: Hashable, Sendable {
    public let id: TokenObjectID

    /// The name in the token's specification, such as `PIV Authentication`; the certificate's label where the parts have their
    /// own labels.
    public let label: String

    /// The `CKA_ID` of the object's parts (PKCS #11 §4.4), which a certificate and the halves of its key share. Nil for an object
    /// that programs are not shown.
    public let cryptokiID: [UInt8]?

    /// The certificate in DER.
    public let certificate: [UInt8]?
    public let key: TokenKey?

    /// An object whose ``cryptokiID`` is its name.
    public init(id: TokenObjectID, label: String, certificate: [UInt8]? = nil, key: TokenKey? = nil) {
        self.init(
            id: id, label: label, cryptokiID: Array(id.rawValue.utf8), certificate: certificate, key: key)
    }

    public init(
        id: TokenObjectID, label: String, cryptokiID: [UInt8]?, certificate: [UInt8]? = nil, key: TokenKey? = nil
    ) {
        self.id = id
        self.label = label
        self.cryptokiID = cryptokiID
        self.certificate = certificate
        self.key = key
    }

    /// The name of the key.
    public var keyLabel: String { key?.label ?? label }
}

/// A private key that stays on its token.
public struct TokenKey: Hashable, Sendable {
    /// The operations that a key may be asked for.
    public struct Usage: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let sign = Usage(rawValue: 1)
        public static let decrypt = Usage(rawValue: 2)
        public static let agree = Usage(rawValue: 4)
    }

    /// The purpose of a key in the token's own standard, which may be narrower than the key's abilities.
    public enum Purpose: Hashable, Sendable {
        case any
        case signatures
        /// Key management, and signatures only where the key's certificate allows them.
        case keyManagement
    }

    public let kind: KeyKind

    /// The public key as a DER SubjectPublicKeyInfo (RFC 5280 §4.1).
    public let publicKey: [UInt8]
    public let usage: Usage
    public let purpose: Purpose
    public let pinPolicy: PINPolicy
    public let touchPolicy: TouchPolicy

    /// The key's own label; nil where it is the object's.
    public let label: String?

    /// The label of the public half; nil where it is the key's.
    public let publicLabel: String?

    public init(
        kind: KeyKind, publicKey: [UInt8], usage: Usage, purpose: Purpose = .any, pinPolicy: PINPolicy,
        touchPolicy: TouchPolicy = .unknown, label: String? = nil, publicLabel: String? = nil
    ) {
        self.kind = kind
        self.publicKey = publicKey
        self.usage = usage
        self.purpose = purpose
        self.pinPolicy = pinPolicy
        self.touchPolicy = touchPolicy
        self.label = label
        self.publicLabel = publicLabel
    }

    /// Whether the uses of the key follow from its certificate.
    var isJudgedByCertificate: Bool { purpose == .keyManagement && isOnCurve }

    private var isOnCurve: Bool { [.ecP256, .ecP384].contains(kind) }

    /// The abilities that the token's standard gives the key. On a curve, a key for signatures agrees on nothing, and a key for key
    /// management signs only where its certificate has signatures among the key's uses.
    ///
    /// - Parameter isCertifiedForSignatures: whether the certificate has digitalSignature or nonRepudiation in its key usage (RFC 5280
    ///   §4.2.1.3).
    package func uses(isCertifiedForSignatures: @autoclosure () -> Bool) -> Usage {
        switch purpose {
        case .signatures where isOnCurve: usage.subtracting(.agree)
        case .keyManagement where isOnCurve && !isCertifiedForSignatures(): usage.subtracting(.sign)
        case .any, .signatures, .keyManagement: usage
        }
    }
}
