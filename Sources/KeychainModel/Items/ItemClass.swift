public import Localization

/// The class of a keychain item, by the code `SecItem` knows it by.
public enum ItemClass: String, Sendable, Hashable, CaseIterable, BitwiseCopyable {
    /// A password or other small secret of a program.
    case genericPassword = "genp"
    /// A password for a server.
    case internetPassword = "inet"
    /// An X.509 certificate.
    case certificate = "cert"
    /// A public, private or symmetric key.
    case key = "keys"
    /// A certificate and the private key that belongs to it. It has no storage of its own.
    case identity = "idnt"

    /// The class of a `SecItem` code, `genp` say.
    public init(code: String) throws(KeychainError) {
        guard let known = ItemClass(rawValue: code) else {
            throw KeychainError(
                .noSuchClass, "there is no item class \(code)", remedy: "use genp, inet, cert, keys or idnt",
                key: "class")
        }
        self = known
    }

    /// The classes that have storage of their own.
    package static let stored = allCases.filter { $0 != .identity }

    /// Whether items of the class are passwords, whose secret can be changed.
    public var isPassword: Bool { self == .genericPassword || self == .internetPassword }

    /// The noun for an item of the class.
    public var noun: LocalizedText {
        switch self {
        case .genericPassword: "generic password"
        case .internetPassword: "internet password"
        case .certificate: "certificate"
        case .key: "key"
        case .identity: "identity"
        }
    }

    /// The noun with its article.
    package var anyNoun: LocalizedText {
        switch self {
        case .genericPassword: "a generic password"
        case .internetPassword: "an internet password"
        case .certificate: "a certificate"
        case .key: "a key"
        case .identity: "an identity"
        }
    }
}

extension ItemClass {
    /// Whether items with these attributes have a secret, which may be empty: all but certificates and public keys.
    /// Such items always have a seal.
    package func holdsSecret(_ attributes: Attributes) -> Bool {
        isPassword || self == .key && attributes[.keyClass]?.isTrue == true
    }
}
