package import SecureBytes
internal import SystemCrypto
package import TokenKit

/// The content of a YubiKey's attestation certificate of a key. Yubico, PIV attestation.
package struct Attestation: Hashable, Sendable {
    /// The attested key as a DER SubjectPublicKeyInfo.
    package let publicKey: [UInt8]
    /// The slot of the key; nil where the subject does not tell.
    package let slot: PIVSlot?
    package let firmware: Firmware?
    package let serialNumber: UInt32?
    /// The case of the device, and its connector; nil where the certificate does not tell, or for one without a name here.
    package let form: String?

    /// Whether the certificate tells the policies of a key. That of the attestation key itself does not.
    let tellsPolicies: Bool
    /// The PIN policy; nil where the certificate leaves it to the slot.
    package let pinPolicy: PINPolicy?
    package let touchPolicy: TouchPolicy

    /// Reads the certificate that ATTEST returned.
    package init(parsing data: [UInt8]) throws(TokenError) {
        let certificate: Certificate
        do {
            certificate = try Certificate(der: data)
        } catch {
            throw PIVFormat.malformed("attestation", "\(error)")
        }
        self.init(certificate)
    }

    init(_ certificate: Certificate) {
        publicKey = certificate.spki
        slot = certificate.commonName.flatMap { Attestation.slot(named: $0) }
        firmware = certificate.extensionValue(Attestation.firmwareID).flatMap { try? Firmware(parsing: $0) }
        serialNumber = certificate.extensionValue(Attestation.serialNumberID).flatMap { Attestation.integer($0) }
        let form = certificate.extensionValue(Attestation.formID) ?? []
        self.form = form.count == 1 ? Attestation.form(form[0]) : nil
        let policies = certificate.extensionValue(Attestation.policiesID) ?? []
        tellsPolicies = policies.count == 2
        pinPolicy = policies.first.flatMap { YubicoPolicy.pin($0) }
        touchPolicy = policies.dropFirst().first.map { YubicoPolicy.touch($0) } ?? .unknown
    }

    private static let firmwareID: OID = "1.3.6.1.4.1.41482.3.3"
    private static let serialNumberID: OID = "1.3.6.1.4.1.41482.3.7"
    private static let policiesID: OID = "1.3.6.1.4.1.41482.3.8"
    private static let formID: OID = "1.3.6.1.4.1.41482.3.9"

    /// The slot in the common name `YubiKey PIV Attestation 9a`.
    private static func slot(named name: String) -> PIVSlot? {
        let prefix = "YubiKey PIV Attestation "
        guard name.hasPrefix(prefix) else { return nil }
        return PIVSlot(TokenObjectID(name.dropFirst(prefix.count).uppercased()))
    }

    /// A positive INTEGER of at most four significant bytes.
    private static func integer(_ der: [UInt8]) -> UInt32? {
        guard let value = try? TLVReader.only(0x02, in: der).value, value.first.map({ $0 < 0x80 }) ?? false,
            value.drop(while: { $0 == 0 }).count <= 4
        else { return nil }
        return UInt32(bigEndianBytes: value)
    }

    /// The name of a form factor. The highest bit is for devices with a FIPS certificate, the next for Security Keys.
    private static func form(_ number: UInt8) -> String? {
        let name: String? =
            switch number & 0x3F {
            case 1: "USB-A keychain"
            case 2: "USB-A nano"
            case 3: "USB-C keychain"
            case 4: "USB-C nano"
            case 5: "USB-C and Lightning"
            case 6: "USB-A with fingerprint reader"
            case 7: "USB-C with fingerprint reader"
            default: nil
            }
        return name.map { number & 0x80 == 0 ? $0 : "\($0), FIPS" }
    }
}
