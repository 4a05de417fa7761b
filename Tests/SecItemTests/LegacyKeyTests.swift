import Foundation
import Security
import SystemCrypto
import Testing

/// The functions of SecKey.h that are older than its algorithms, and those of SecCertificate.h for its fields.
@Suite struct LegacyKeyTests {
    private static func pair(_ type: CFString, _ bits: Int) throws -> (own: SecKey, other: SecKey) {
        var (other, own): (SecKey?, SecKey?)
        let parameters = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: bits] as [String: Any]
        #expect(SecKeyGeneratePair(parameters as CFDictionary, &other, &own) == errSecSuccess)
        return (try #require(own), try #require(other))
    }

    private static func sign(_ key: SecKey, _ padding: SecPadding, _ input: [UInt8], room: Int = 512) -> [UInt8]? {
        var (output, length) = ([UInt8](repeating: 0, count: room), room)
        guard SecKeyRawSign(key, padding, input, input.count, &output, &length) == errSecSuccess else { return nil }
        return Array(output.prefix(length))
    }

    @Test func aSignatureOfEachPaddingVerifiesAndIsThatOfItsAlgorithm() throws {
        let keys = try Self.pair(kSecAttrKeyTypeRSA, 2048)
        let digest = [UInt8](repeating: 7, count: 32)
        for padding: SecPadding in [.PKCS1, .PKCS1SHA256] {
            let signature = try #require(Self.sign(keys.own, padding, digest))
            #expect(SecKeyRawVerify(keys.other, padding, digest, 32, signature, signature.count) == errSecSuccess)
            #expect(SecKeyRawVerify(keys.other, padding, digest, 31, signature, signature.count) != errSecSuccess)
        }
        let signature = try #require(Self.sign(keys.own, .PKCS1SHA256, digest))
        #expect(
            SecKeyVerifySignature(
                keys.other, .rsaSignatureDigestPKCS1v15SHA256, Data(digest), Data(signature), nil))
        var (output, length) = ([UInt8](repeating: 0, count: 256), 255)
        #expect(SecKeyRawSign(keys.own, .PKCS1SHA256, digest, 32, &output, &length) == errSecParam)
        #expect(SecKeyRawSign(keys.own, .PKCS1MD5, digest, 32, &output, &length) == errSecParam)
        #expect(SecKeyRawSign(keys.own, .PKCS1SHA256, digest, -1, &output, &length) == errSecParam)
    }

    @Test func aSignatureOnACurveHasTwoForms() throws {
        let keys = try Self.pair(kSecAttrKeyTypeECSECPrimeRandom, 256)
        let digest = [UInt8](repeating: 7, count: 32)
        let raw = try #require(Self.sign(keys.own, .sigRaw, digest))
        #expect(raw.count == 64)
        #expect(SecKeyRawVerify(keys.other, .sigRaw, digest, 32, raw, raw.count) == errSecSuccess)
        let encoded = try #require(Self.sign(keys.own, .PKCS1, digest))
        #expect(encoded.first == 0x30)
        #expect(SecKeyRawVerify(keys.other, [], digest, 32, encoded, encoded.count) == errSecSuccess)
        #expect(SecKeyRawVerify(keys.other, .sigRaw, digest, 32, encoded, encoded.count) != errSecSuccess)
    }

    @Test func whatIsEncryptedIsDecrypted() throws {
        let keys = try Self.pair(kSecAttrKeyTypeRSA, 2048)
        for padding: SecPadding in [.PKCS1, .OAEP] {
            var (ciphertext, length) = ([UInt8](repeating: 0, count: 256), 256)
            #expect(SecKeyEncrypt(keys.other, padding, [1, 2, 3], 3, &ciphertext, &length) == errSecSuccess)
            var (plaintext, count) = ([UInt8](repeating: 0, count: 256), 256)
            #expect(SecKeyDecrypt(keys.own, padding, ciphertext, length, &plaintext, &count) == errSecSuccess)
            #expect(plaintext.prefix(count) == [1, 2, 3])
            count = 2
            #expect(SecKeyDecrypt(keys.own, padding, ciphertext, length, &plaintext, &count) == errSecParam)
        }
    }

    private static func certificate() throws -> SecCertificate {
        let key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "Anna Example", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_700_000_000)
        builder.extendedKeyUsage = [.serverAuthentication]
        return try #require(SecCertificateCreateWithData(nil, Data(builder.selfSigned(by: key).der)))
    }

    @Test func aCertificateTellsItsKeyAndSerialNumberByOldNames() throws {
        let certificate = try Self.certificate()
        var key: SecKey?
        #expect(SecCertificateCopyPublicKey(certificate, &key) == errSecSuccess)
        #expect(key == SecCertificateCopyKey(certificate))
        let copied: SecKey? = SecCertificateCopyPublicKey(certificate)
        #expect(copied == key)
        #expect(SecCertificateCopySerialNumber(certificate) == SecCertificateCopySerialNumberData(certificate, nil))
        #expect(SecCertificateCopySerialNumber(certificate, nil) != nil)
    }

    @Test func aCertificatesFieldsAreValues() throws {
        let certificate = try Self.certificate()
        let values = try #require(SecCertificateCopyValues(certificate, nil, nil) as? [CFString: Any])
        func value(_ key: CFString) -> Any? { (values[key] as? [CFString: Any])?[kSecPropertyKeyValue] }
        let subject = try #require(value(kSecOIDX509V1SubjectName) as? [[CFString: Any]])
        #expect(subject.map { $0[kSecPropertyKeyLabel] as? String } == [kSecOIDCommonName])
        #expect(subject.first?[kSecPropertyKeyValue] as? String == "Anna Example")
        let end = try #require(value(kSecOIDX509V1ValidityNotAfter) as? NSNumber)
        #expect(Date(timeIntervalSinceReferenceDate: end.doubleValue).timeIntervalSince1970 == 1_700_000_000)
        // id-kp-serverAuth, RFC 5280 §4.2.1.12
        let serverAuthentication = Data([0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01])
        #expect(value(kSecOIDExtendedKeyUsage) as? [Data] == [serverAuthentication])
        #expect(value(kSecOIDSubjectAltName) == nil)
        let wanted = [kSecOIDX509V1Version, "1.2.3"] as CFArray
        let some = SecCertificateCopyValues(certificate, wanted, nil) as? [CFString: Any]
        #expect(some?.keys.map { $0 } == [kSecOIDX509V1Version])
    }
}
