package import SecureBytes
internal import SystemCrypto
package import TokenKit

/// The content of a YubiKey's attestation certificate of a key. Yubico, PIV attestation.
package struct Attestation: Hashable, Sendable {
    /// The attested key as a DER SubjectPublicKeyInfo.
    package let publicKey: [UInt8]
    package let firmware: Firmware?
    package let serialNumber: UInt32?

    /// The PIN policy; nil where the certificate leaves it to the slot.
    package let pinPolicy: PINPolicy?
    package let touchPolicy: TouchPolicy

    /// Reads the certificate that ATTEST returned.
    package init(parsing data: [UInt8]) throws(TokenError) {
        let certificate: Certificate
        do {
            certificate = try Certificate(der: data)
        } catch {
            throw PIVFormat.malformed("attestation", error.description)
        }
        publicKey = certificate.spki
        firmware = certificate.extensionValue(Attestation.firmwareID).flatMap { try? Firmware(parsing: $0) }
        serialNumber = certificate.extensionValue(Attestation.serialNumberID).flatMap { Attestation.integer($0) }
        let policies = certificate.extensionValue(Attestation.policiesID) ?? []
        pinPolicy = policies.first.flatMap { YubicoPolicy.pin($0) }
        touchPolicy = policies.dropFirst().first.map { YubicoPolicy.touch($0) } ?? .unknown
    }

    private static let firmwareID: OID = "1.3.6.1.4.1.41482.3.3"
    private static let serialNumberID: OID = "1.3.6.1.4.1.41482.3.7"
    private static let policiesID: OID = "1.3.6.1.4.1.41482.3.8"

    /// A positive INTEGER of at most four significant bytes.
    private static func integer(_ der: [UInt8]) -> UInt32? {
        guard let value = try? TLVReader.only(0x02, in: der).value, value.first.map({ $0 < 0x80 }) ?? false,
            value.drop(while: { $0 == 0 }).count <= 4
        else { return nil }
        return UInt32(bigEndianBytes: value)
    }
}
