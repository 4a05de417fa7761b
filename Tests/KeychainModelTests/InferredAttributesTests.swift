import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainModel

@Suite struct InferredAttributesTests {
    private let key: PrivateKey

    init() throws { key = try PrivateKey.generate(.ecP256) }

    private func certificate(
        subject: [UInt8] = [0x30, 0], serial: [UInt8] = [1], names: [GeneralName] = []
    ) throws -> Certificate {
        var builder = try CertificateBuilder(
            subject: DistinguishedName(der: subject), publicKey: key.publicKey, notBefore: 0, notAfter: 9)
        builder.serialNumber = serial
        builder.subjectAlternativeNames = names
        return try builder.selfSigned(by: key)
    }

    private func name(_ text: String, tag: TLVTag = 0x13) -> [UInt8] {
        NameBuilder.name([[(NameBuilder.commonName, tag, Array(text.utf8))]])
    }

    @Test func aCertificateHasTheAttributesOfItsFields() throws {
        let certificate = try certificate(subject: name("Anna  b"), serial: [0x80, 0x01])
        let attributes = InferredAttributes.certificate(certificate)
        let normalized = AttributeValue.data(Array(name("ANNA B").dropFirst(2)))
        #expect(attributes[.certificateType] == 3)
        #expect(attributes[.certificateEncoding] == 3)
        #expect(attributes[.subject] == normalized)
        #expect(attributes[.issuer] == normalized)
        #expect(attributes[.serialNumber] == .data([0x00, 0x80, 0x01]), "the sign's zero is content too")
        #expect(attributes[.publicKeyHash] == .data(key.publicKey.keyHash))
        #expect(attributes[.label] == "Anna  b", "a label is for people and stays as it is")
        #expect(attributes.keys.allSatisfy(ItemClass.certificate.has))
    }

    @Test func thePublicKeyHashIsTheSHA1OfThePoint() throws {
        let expected = try Digest.hash(key.publicKey.rawRepresentation, using: .sha1)
        #expect(InferredAttributes.key(key.publicKey, .private)[.applicationLabel] == .data(expected))
        #expect(InferredAttributes.certificate(try certificate())[.publicKeyHash] == .data(expected))
    }

    @Test(
        arguments: [
            ([.email("a@example.org"), .dns("example.org")], "a@example.org"),
            ([.dns("example.org"), .dns("example.net")], "example.org"), ([], nil),
        ] as [([GeneralName], String?)])
    func aCertificateWithoutACommonNameIsLabelledByItsOtherNames(names: [GeneralName], label: String?) throws {
        #expect(InferredAttributes.certificate(try certificate(names: names))[.label]?.string == label)
    }

    @Test func aDescriptionFollowsTheCommonNameInParentheses() throws {
        let described = NameBuilder.name([
            [(NameBuilder.commonName, 0x0C, Array("Anna".utf8))], [([0x55, 0x04, 0x0D], 0x0C, Array("at work".utf8))],
        ])
        #expect(InferredAttributes.certificate(try certificate(subject: described))[.label] == "Anna (at work)")
    }

    @Test func aSubjectWithoutACommonNameIsItsOwnLabel() throws {
        let subject = NameBuilder.name([[(NameBuilder.organization, 0x0C, Array("Acme".utf8))]])
        #expect(InferredAttributes.certificate(try certificate(subject: subject))[.label] == "O=Acme")
    }

    @Test(
        arguments: [
            (KeyKind.ecP256, KeyType.ecPrime, 256), (.ecP384, .ecPrime, 384), (.ecP521, .ecPrime, 521),
            (.rsa(bits: 1024), .rsa, 1024), (.ed25519, .ed25519, 256), (.x25519, .x25519, 256),
        ] as [(KeyKind, KeyType, Int64)])
    func aKeyHasItsTypeAndSize(kind: KeyKind, type: KeyType, bits: Int64) throws {
        let attributes = InferredAttributes.key(try PrivateKey.generate(kind).publicKey, .private)
        #expect(attributes[.keyType] == type.value)
        #expect(attributes[.keySizeInBits] == .number(bits))
        #expect(attributes[.effectiveKeySize] == .number(bits))
        #expect(attributes.keys.allSatisfy(ItemClass.key.has))
    }

    @Test(arguments: [KeyClass.private, .public])
    func whatAKeyCanDoFollowsFromItsHalf(keyClass: KeyClass) {
        let attributes = InferredAttributes.key(key.publicKey, keyClass)
        let isPrivate = AttributeValue.bool(keyClass == .private)
        let isPublic = AttributeValue.bool(keyClass == .public)
        for attribute in [Attribute.canSign, .canDecrypt, .canUnwrap, .isPrivate] {
            #expect(attributes[attribute] == isPrivate, "\(attribute)")
        }
        for attribute in [Attribute.canVerify, .canEncrypt, .canWrap] {
            #expect(attributes[attribute] == isPublic, "\(attribute)")
        }
        for attribute in [Attribute.canDerive, .isPermanent, .isModifiable, .isExtractable] {
            #expect(attributes[attribute] == true, "\(attribute)")
        }
        for attribute in [
            Attribute.isSensitive, .wasAlwaysSensitive, .wasNeverExtractable, .canSignRecover, .canVerifyRecover,
        ] {
            #expect(attributes[attribute] == false, "\(attribute)")
        }
    }
}
