internal import SecureBytes

/// The data objects of a PIV card and who may read them. SP 800-73-5 part 1 table 2.
enum DataObject {
    static let cardCapability: TLVTag = 0x5FC107
    static let cardholderIdentifier: TLVTag = 0x5FC102
    static let authenticationCertificate: TLVTag = 0x5FC105
    static let fingerprints: TLVTag = 0x5FC103
    static let security: TLVTag = 0x5FC106
    static let facialImage: TLVTag = 0x5FC108
    static let cardAuthenticationCertificate: TLVTag = 0x5FC101
    static let signatureCertificate: TLVTag = 0x5FC10A
    static let keyManagementCertificate: TLVTag = 0x5FC10B
    static let printedInformation: TLVTag = 0x5FC109
    static let discovery: TLVTag = 0x7E
    static let keyHistory: TLVTag = 0x5FC10C
    static let irisImages: TLVTag = 0x5FC121
    static let biometricTemplates: TLVTag = 0x7F61
    static let secureMessagingSigner: TLVTag = 0x5FC122
    static let pairingCode: TLVTag = 0x5FC123
    static let attestationCertificate: TLVTag = 0x5FFF01

    /// The certificates of the twenty retired keys.
    static let retiredCertificates: [TLVTag] = (0..<20).map { TLVTag(rawValue: 0x5FC10D + $0) }

    /// The 36 containers.
    static let standard: Set<TLVTag> = Set(
        [
            cardCapability, cardholderIdentifier, authenticationCertificate, fingerprints, security, facialImage,
            cardAuthenticationCertificate, signatureCertificate, keyManagementCertificate, printedInformation,
            discovery,
            keyHistory, irisImages, biometricTemplates, secureMessagingSigner, pairingCode,
        ] + retiredCertificates)

    /// The objects that can be read only after the PIN.
    static let protected: Set<TLVTag> = [fingerprints, facialImage, printedInformation, irisImages, pairingCode]

    /// The objects that can be read over the air without a virtual contact interface.
    static let contactless: Set<TLVTag> = [
        cardholderIdentifier, cardAuthenticationCertificate, discovery, biometricTemplates, secureMessagingSigner,
    ]

    /// Whether the object stands under its own tag instead of `53`.
    static func isBare(_ tag: TLVTag) -> Bool { tag == discovery || tag == biometricTemplates }

    /// Whether the tag is in the ranges in which Yubico's application stores any object.
    static func isYubico(_ tag: TLVTag) -> Bool {
        (0x5FC100...0x5FC1FF).contains(tag.rawValue) || (0x5FFF00...0x5FFFFF).contains(tag.rawValue)
    }

    /// Bit 6 of the PIN usage policy in a discovery object. SP 800-73-5 part 1 §3.3.2.
    static func globalPINSatisfies(_ discovery: [UInt8]?) -> Bool {
        var reader = TLVReader(discovery ?? [])
        guard let children = try? reader.all(), let policy = children.first(where: { $0.tag == 0x5F2F }) else {
            return false
        }
        return policy.value.first.map { $0 & 0x20 != 0 } ?? false
    }

    /// The tag of a key's certificate.
    static func certificate(of key: CardKeyReference) -> TLVTag? {
        switch key {
        case .authentication: authenticationCertificate
        case .signature: signatureCertificate
        case .keyManagement: keyManagementCertificate
        case .cardAuthentication: cardAuthenticationCertificate
        case .attestation: attestationCertificate
        default:
            key.isRetired ? retiredCertificates[Int(key.rawValue - 0x82)] : nil
        }
    }
}
