/// Names an object on its token, in the token's own terms: `9A`.
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
    /// The key of an object; its certificate only as far as it takes one to know the key.
    case key(TokenObjectID)
    /// A private key for a signature: as it was when the token was last read, where that is remembered. A failing
    /// signature tells that it is not there any more.
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

    /// The name in the token's specification, `PIV Authentication`, or its certificate where its parts have labels of
    /// their own.
    public let label: String

    /// The `CKA_ID` of its parts (PKCS #11 §4.4), which a certificate and the halves of its key share. Nil for what
    /// programs are not shown.
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
    public enum Algorithm: Hashable, Sendable {
        case rsa(bits: Int)
        case ecP256
        case ecP384
        case ed25519
        case x25519
        /// One that this version has no name for, by the token's own number.
        case other(UInt8)
    }

    /// The operations that a key may be asked for.
    public struct Usage: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let sign = Usage(rawValue: 1)
        public static let decrypt = Usage(rawValue: 2)
        public static let agree = Usage(rawValue: 4)
    }

    /// The purpose of a key by the token's own standard, which may be less than the key can do.
    public enum Purpose: Hashable, Sendable {
        case any
        case signatures
        /// Signatures only where the key's certificate has them among its uses.
        case keyManagement
    }

    public let algorithm: Algorithm

    /// The public key as a DER SubjectPublicKeyInfo (RFC 5280 §4.1).
    public let publicKey: [UInt8]
    public let usage: Usage
    public let purpose: Purpose
    public let pinPolicy: PINPolicy
    public let touchPolicy: TouchPolicy

    /// The key's own label; nil where it is the object's.
    public let label: String?

    /// The label of its public half; nil where it is the key's.
    public let publicLabel: String?

    public init(
        algorithm: Algorithm, publicKey: [UInt8], usage: Usage, purpose: Purpose = .any, pinPolicy: PINPolicy,
        touchPolicy: TouchPolicy = .unknown, label: String? = nil, publicLabel: String? = nil
    ) {
        self.algorithm = algorithm
        self.publicKey = publicKey
        self.usage = usage
        self.purpose = purpose
        self.pinPolicy = pinPolicy
        self.touchPolicy = touchPolicy
        self.label = label
        self.publicLabel = publicLabel
    }

    /// Whether the uses of the key follow from its certificate.
    var isJudgedByCertificate: Bool { purpose == .keyManagement && [.ecP256, .ecP384].contains(algorithm) }
}

/// When a key wants the PIN.
public enum PINPolicy: Hashable, Sendable {
    case never
    /// Once while the card stays powered.
    case once
    /// Immediately before every use.
    case always
    /// A value that this version has no name for; treated as ``always``.
    case other(UInt8)

    /// Whether each use wants the PIN right before it.
    package var isAlways: Bool {
        switch self {
        case .always, .other: true
        case .never, .once: false
        }
    }
}

/// When a key wants a touch.
public enum TouchPolicy: Hashable, Sendable {
    /// The token does not say.
    case unknown
    case never
    case always
    /// Not again within the seconds after a touch that the token grants.
    case cached
    /// A value that this version has no name for.
    case other(UInt8)

    /// Whether an operation may wait for a finger.
    package var mayWait: Bool { self != .never && self != .unknown }
}
