internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// ATTEST of Yubico's extension: the attestation key certifies that a key was made on this card. P1 is the key.
extension PIVApplet {
    mutating func attest(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        let reference = CardKeyReference(rawValue: command.p1)
        guard command.p2 == 0x00, profile.keyReferences.contains(reference), reference != .attestation else {
            throw Refusal(.incorrectParameters)
        }
        guard let key = contents.keys[reference] else { throw Refusal(.referenceNotFound) }
        guard key.origin == .generated else { throw Refusal(.incorrectData) }
        guard let authority = contents.keys[.attestation], let certificate = attestationCertificate else {
            throw Refusal(.conditionsNotSatisfied)
        }
        do {
            return .success(try attestation(of: key, at: reference, by: certificate, authority.privateKey).der)
        } catch {
            throw Refusal(error)
        }
    }

    private var attestationCertificate: Certificate? {
        guard let object = contents.objects[DataObject.attestationCertificate] else { return nil }
        var reader = TLVReader(object)
        guard let der = try? reader.next(0x70)?.value else { return nil }
        return try? Certificate(der: der)
    }

    private func attestation(
        of key: CardKey, at reference: CardKeyReference, by authority: Certificate, _ authorityKey: PrivateKey
    ) throws(CryptoError) -> Certificate {
        var builder = try CertificateBuilder(
            commonName: "YubiKey PIV Attestation \(reference.description.lowercased())",
            publicKey: key.privateKey.publicKey, notBefore: authority.notBefore, notAfter: authority.notAfter)
        let firmware = profile.firmware ?? Firmware(0, 0, 0)
        builder.hasConstraints = false  // as YubiKeys' own
        builder.extensions = [
            CertificateExtension(Attestation.firmware, value: firmware.bytes),
            CertificateExtension(Attestation.serialNumber, value: Attestation.integer(contents.serialNumber)),
            CertificateExtension(Attestation.policies, value: [key.pinPolicy.rawValue, key.touchPolicy.rawValue]),
            CertificateExtension(Attestation.formFactor, value: [Attestation.keychainFormFactor]),
        ]
        return try builder.issued(by: authority, key: authorityKey)
    }
}

/// The content of attestation certificates, and the key that signs them.
enum Attestation {
    static let firmware: OID = "1.3.6.1.4.1.41482.3.3"
    static let serialNumber: OID = "1.3.6.1.4.1.41482.3.7"
    static let policies: OID = "1.3.6.1.4.1.41482.3.8"
    static let formFactor: OID = "1.3.6.1.4.1.41482.3.9"
    static let keychainFormFactor: UInt8 = 1

    /// From March 2016 to April 2052, as Yubico's own are.
    private static let validity: (from: Int64, to: Int64) = (1_457_913_600, 2_597_011_200)

    /// The attestation key and certificate that a card leaves the factory with.
    static func manufacture(_ profile: CardProfile) throws(CryptoError) -> (key: CardKey, object: [UInt8]) {
        let key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "Virtual Card PIV Attestation", publicKey: key.publicKey, notBefore: validity.from,
            notAfter: validity.to)
        builder.isCA = true
        builder.hasConstraints = !profile.has(.attestationWithoutConstraints)
        builder.keyUsage = .keyCertSign
        let certificate = try builder.selfSigned(by: key)
        return (
            CardKey(key, algorithm: .p256, pinPolicy: .never, touchPolicy: .never, origin: .imported),
            DataObject.certificate(certificate.der)
        )
    }

    /// The DER of an integer.
    static func integer(_ number: UInt32) -> [UInt8] {
        var octets = Array(number.bigEndianBytes.drop { $0 == 0 })
        if octets.first.map({ $0 > 0x7F }) ?? true { octets.insert(0, at: 0) }
        return TLV(0x02, octets).encoded()
    }
}

extension CardContents {
    /// The content of a card from its maker, with an attestation key if the profile has one.
    static func manufactured(
        _ profile: CardProfile, serialNumber: UInt32
    ) throws(VirtualCardError) -> CardContents {
        var contents = factory(profile, serialNumber: serialNumber)
        guard profile.keyReferences.contains(.attestation) else { return contents }
        do {
            let (key, object) = try Attestation.manufacture(profile)
            contents.keys[.attestation] = key
            contents.objects[DataObject.attestationCertificate] = object
            return contents
        } catch {
            throw VirtualCardError(.unsupported, "cannot make an attestation key: \(error)")
        }
    }
}
