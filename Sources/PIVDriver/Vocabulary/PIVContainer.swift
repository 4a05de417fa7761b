public import SecureBytes

/// A data object of the card: its name, place and maximum size, and the condition for reading it.
///
/// SP 800-73-5 part 1 tables 2, 3 and 7.
public struct PIVContainer: Hashable, Sendable {
    /// The condition for reading the object over the card's contacts.
    public enum ReadRule: Hashable, Sendable {
        case always
        /// Only after the PIN.
        case pin
    }

    /// The name by which a user asks for the object, in lower case, such as `chuid`.
    public let name: String

    /// The name in SP 800-73.
    public let title: String

    /// The object's tag in GET DATA.
    public let tag: TLVTag

    /// The bytes for which every card has room.
    public let minimumCapacity: Int
    public let readRule: ReadRule

    /// The object identifier in SP 800-73-5 part 1 table 3; nil for Yubico's objects.
    public let objectIdentifier: String?

    /// The maximum number of bytes that are read: enough for cards that store more than they must, and a limit for an endless
    /// answer.
    public var sizeLimit: Int { minimumCapacity * 8 }

    /// Whether the object has its own outer tag instead of `53`. SP 800-73-5 part 2 §3.1.2.
    var isBare: Bool { self == .discovery || self == .biometricGroupTemplate }

    /// - Parameter arcs: the last arcs of the object identifier; nil for an object without one.
    init(
        _ name: String, _ title: String, _ tag: TLVTag, _ arcs: String?, _ minimumCapacity: Int,
        _ readRule: ReadRule = .always
    ) {
        self.name = name
        self.title = title
        self.tag = tag
        self.minimumCapacity = minimumCapacity
        self.readRule = readRule
        objectIdentifier = arcs.map { "2.16.840.1.101.3.7." + $0 }
    }

    /// The container of that name, or of a tag such as `0x5FC1FF`, also one that no specification names; or nil.
    public static func named(_ name: String) -> PIVContainer? {
        if let container = all.first(where: { $0.name == name }) { return container }
        guard let tag = tag(name) else { return nil }
        return all.first { $0.tag == tag }
            ?? PIVContainer("0x\(tag)", "Data Object \(tag)", tag, nil, yubicoCapacity)
    }

    /// A tag of GET DATA in hexadecimal digits, one to three octets of them. ISO/IEC 7816-4 §5.2.2.1.
    private static func tag(_ text: String) -> TLVTag? {
        guard text.hasPrefix("0x"), let octets = Hex.decode(text.dropFirst(2)), (1...3).contains(octets.count),
            text.utf8.count == 2 + 2 * octets.count, (octets[0] & 0x1F == 0x1F) == (octets.count > 1)
        else { return nil }
        return TLVTag(rawValue: octets.reduce(0) { $0 << 8 | UInt32($1) })
    }
}

extension PIVContainer {
    public static let cardCapability = PIVContainer(
        "card-capability", "Card Capability Container", 0x5FC107, "1.219.0", 287)
    public static let chuid = PIVContainer("chuid", "Card Holder Unique Identifier", 0x5FC102, "2.48.0", 2916)
    public static let authenticationCertificate = PIVContainer(
        "authentication-certificate", "X.509 Certificate for PIV Authentication", 0x5FC105, "2.1.1", 1905)
    public static let fingerprints = PIVContainer(
        "fingerprints", "Cardholder Fingerprints", 0x5FC103, "2.96.16", 4006, .pin)
    public static let securityObject = PIVContainer("security-object", "Security Object", 0x5FC106, "2.144.0", 1336)
    public static let facialImage = PIVContainer(
        "facial-image", "Cardholder Facial Image", 0x5FC108, "2.96.48", 12_710, .pin)
    public static let cardAuthenticationCertificate = PIVContainer(
        "card-authentication-certificate", "X.509 Certificate for Card Authentication", 0x5FC101, "2.5.0", 1905)
    public static let signatureCertificate = PIVContainer(
        "signature-certificate", "X.509 Certificate for Digital Signature", 0x5FC10A, "2.1.0", 1905)
    public static let keyManagementCertificate = PIVContainer(
        "key-management-certificate", "X.509 Certificate for Key Management", 0x5FC10B, "2.1.2", 1905)
    public static let printedInformation = PIVContainer(
        "printed-information", "Printed Information", 0x5FC109, "2.48.1", 245, .pin)
    public static let discovery = PIVContainer("discovery", "Discovery Object", 0x7E, "2.96.80", 19)
    public static let keyHistory = PIVContainer("key-history", "Key History Object", 0x5FC10C, "2.96.96", 128)
    public static let irisImages = PIVContainer(
        "iris-images", "Cardholder Iris Images", 0x5FC121, "2.16.21", 7106, .pin)
    public static let biometricGroupTemplate = PIVContainer(
        "biometric-group-template", "Biometric Information Templates Group Template", 0x7F61, "2.16.22", 65)
    public static let secureMessagingSigner = PIVContainer(
        "secure-messaging-signer", "Secure Messaging Certificate Signer", 0x5FC122, "2.16.23", 2471)
    public static let pairingCode = PIVContainer(
        "pairing-code", "Pairing Code Reference Data Container", 0x5FC123, "2.16.24", 12, .pin)

    /// The certificates of the retired key management keys 1 to 20.
    public static let retiredCertificates: [PIVContainer] = (1...20).map { number in
        PIVContainer(
            "retired-certificate-\(number)", "Retired X.509 Certificate for Key Management \(number)",
            TLVTag(rawValue: 0x5FC10C + UInt32(number)), "2.16.\(number)", 1905)
    }

    /// The 36 containers of SP 800-73-5.
    public static let standard: [PIVContainer] =
        [
            cardCapability, chuid, authenticationCertificate, fingerprints, securityObject, facialImage,
            cardAuthenticationCertificate, signatureCertificate, keyManagementCertificate, printedInformation,
            discovery,
            keyHistory,
        ] + retiredCertificates + [irisImages, biometricGroupTemplate, secureMessagingSigner, pairingCode]

    public static let attestationCertificate = PIVContainer(
        "attestation-certificate", "Attestation Certificate", 0x5FFF01, nil, yubicoCapacity)

    static let administrativeData = PIVContainer(
        "admin-data", "Administrative Data", 0x5FFF00, nil, yubicoCapacity)

    /// Yubico's own containers.
    public static let yubico: [PIVContainer] =
        [
            administrativeData,
            attestationCertificate,
            PIVContainer("container-map", "Windows Container Map", 0x5FFF10, nil, yubicoCapacity),
        ]
        + (1...5).map { number in
            PIVContainer(
                "windows-roots-\(number)", "Windows Roots \(number)", TLVTag(rawValue: 0x5FFF10 + UInt32(number)),
                nil, yubicoCapacity)
        }

    public static let all: [PIVContainer] = standard + yubico

    /// The maximum bytes of an object on a YubiKey.
    private static let yubicoCapacity = 3052

    static func retiredCertificate(_ number: Int) -> PIVContainer {
        retiredCertificates.indices.contains(number - 1) ? retiredCertificates[number - 1] : keyManagementCertificate
    }
}
