public import SecureBytes
public import TokenKit

/// A place for a key pair and its certificate, by key reference. The cases are in listing order.
///
/// SP 800-73-5 part 1 table 4b; `F9` is Yubico's.
public enum PIVSlot: UInt8, Hashable, Sendable, CaseIterable {
    case authentication = 0x9A
    case signature = 0x9C
    case keyManagement = 0x9D
    case cardAuthentication = 0x9E
    case retired1 = 0x82, retired2, retired3, retired4, retired5, retired6, retired7, retired8, retired9, retired10
    case retired11, retired12, retired13, retired14, retired15, retired16, retired17, retired18, retired19, retired20
    case attestation = 0xF9

    /// The four slots that every PIV card has.
    public static let primary: [PIVSlot] = [.authentication, .signature, .keyManagement, .cardAuthentication]

    /// The twenty slots for retired key management keys.
    public static let retired: [PIVSlot] = allCases.filter { $0.retiredNumber != nil }

    /// The slot of an object's name, which has two hexadecimal digits.
    public init?(_ id: TokenObjectID) {
        guard let octets = Hex.decode(id.rawValue), octets.count == 1 else { return nil }
        self.init(rawValue: octets[0])
    }

    /// The key reference in two hexadecimal digits.
    public var objectID: TokenObjectID { TokenObjectID(Hex.encode([rawValue])) }

    /// The `CKA_ID` of the slot's objects: its place in the order of OpenSC and ykcs11, since users' configuration files have
    /// these ids. Nil for the attestation key, which programs are not shown.
    public var cryptokiID: [UInt8]? {
        switch self {
        case .authentication: [1]
        case .signature: [2]
        case .keyManagement: [3]
        case .cardAuthentication: [4]
        case .attestation: nil
        default: retiredNumber.map { [UInt8($0 + 4)] }
        }
    }

    /// The number of a retired key management key, 1 to 20; nil for other slots.
    public var retiredNumber: Int? {
        (0x82...0x95).contains(rawValue) ? Int(rawValue) - 0x81 : nil
    }

    /// The key's name in SP 800-73.
    public var label: String {
        switch self {
        case .authentication: "PIV Authentication"
        case .signature: "Digital Signature"
        case .keyManagement: "Key Management"
        case .cardAuthentication: "Card Authentication"
        case .attestation: "Attestation"
        default: "Retired Key Management \(retiredNumber ?? 0)"
        }
    }

    /// The container of the certificate.
    public var container: PIVContainer {
        switch self {
        case .authentication: .authenticationCertificate
        case .signature: .signatureCertificate
        case .keyManagement: .keyManagementCertificate
        case .cardAuthentication: .cardAuthenticationCertificate
        case .attestation: .attestationCertificate
        default: .retiredCertificate(retiredNumber ?? 1)
        }
    }

    /// SP 800-73-5 part 1 §3.1.3 to §3.2.2. A retired key may have any, since people keep further keys of their own in these slots.
    var purpose: TokenKey.Purpose {
        switch self {
        case .signature: .signatures
        case .keyManagement: .keyManagement
        default: .any
        }
    }

    /// SP 800-73-5 part 1 §3.1.3 to §3.2.2.
    var use: KeyRole {
        switch self {
        case .authentication: .authentication
        case .signature: .signature
        case .cardAuthentication: .presence
        case .keyManagement: .decryption
        default: .retirement
        }
    }

    /// The key's PIN policy on a card that does not tell it. SP 800-73-5 part 1 table 4b.
    public var standardPINPolicy: PINPolicy {
        switch self {
        case .signature: .always
        case .cardAuthentication: .never
        default: .once
        }
    }
}

extension TokenObject {
    init(_ slot: PIVSlot, certificate: [UInt8]? = nil, key: TokenKey?) {
        self.init(
            id: slot.objectID, label: slot.label, cryptokiID: slot.cryptokiID, certificate: certificate, key: key)
    }
}
