import SystemCrypto
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct CertificateAndKeyTests {
    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    private func certificate(_ name: String, for key: PrivateKey) throws -> Certificate {
        var builder = try CertificateBuilder(commonName: name, publicKey: key.publicKey, notBefore: 0, notAfter: 9)
        builder.serialNumber = [0x00, 0x80, 0x01]
        return try builder.selfSigned(by: key)
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .rsa(bits: 2048), .ed25519, .x25519])
    func aPrivateKeyComesBackAndIsFoundByItsPublicHalf(kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind)
        let item = try test.keychain.add(.privateKey(key, [.label: "mine"]))
        #expect(item.isPrivateKey && item.label == "mine")
        #expect(item.der == key.publicKey.spki)
        #expect(item[.keySizeInBits]?.integer == kind.bits.map { Int64($0) })
        let found = try test.keychain.items(
            matching: Query(.key, [.applicationLabel: .data(key.publicKey.keyHash), .canSign: true])
        ).found
        #expect(found == [item])
        guard let pkcs8 = try test.keychain.secret(of: item.reference) else {
            Issue.record("the private key came back without its secret")
            return
        }
        #expect(try PrivateKey(encoded: pkcs8).publicKey == key.publicKey)
    }

    @Test func aCertificateIsFoundByWhatFollowsFromIt() throws {
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try certificate("Anna", for: key)
        let item = try test.keychain.add(.certificate(certificate))
        #expect(item.der == certificate.der && item.label == "Anna" && item.commonName == "Anna")
        let queries: [Attributes] = [
            [.publicKeyHash: .data(key.publicKey.keyHash)], [.issuer: .data(certificate.issuer.der)],
            [.subject: .data(certificate.subject.der)], [.serialNumber: .data(certificate.serialNumber)],
            [.certificateType: 3], [.certificateEncoding: 3], [.label: "Anna"],
        ]
        for attributes in queries {
            #expect(try test.keychain.items(matching: Query(.certificate, attributes)).found == [item], "\(attributes)")
        }
    }

    @Test func givenAttributesWinOverInferredOnes() throws {
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try certificate("Anna", for: key)
        #expect(try test.keychain.add(.certificate(certificate, [.label: "other"])).label == "other")
        #expect(try test.keychain.add(.privateKey(key, [.isExtractable: false]))[.isExtractable] == false)
    }

    @Test func aKeysApplicationLabelIsItsPublicKeyHash() throws {
        let key = try PrivateKey.generate(.ecP256)
        let error = try #require(throws: KeychainError.self) {
            try test.keychain.add(.privateKey(key, [.applicationLabel: .data([1, 2, 3])]))
        }
        #expect(error.code == .param && error.key == "klbl")
        try test.keychain.add(.privateKey(key, [.applicationLabel: .data(key.publicKey.keyHash)]))
    }

    @Test func theSameCertificateOrKeyTwiceIsADuplicate() throws {
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try certificate("Anna", for: key)
        try test.keychain.add(.certificate(certificate))
        try test.keychain.add(.privateKey(key))
        try test.keychain.add(.publicKey(key.publicKey))
        #expect(throws: KeychainError(.duplicateItem)) {
            try test.keychain.add(.certificate(certificate, [.label: "x"]))
        }
        #expect(throws: KeychainError(.duplicateItem)) { try test.keychain.add(.privateKey(key, [.label: "x"])) }
        #expect(throws: KeychainError(.duplicateItem)) { try test.keychain.add(.publicKey(key.publicKey)) }
    }

    @Test func aPublicKeyIsAddedAndReadWhileLocked() throws {
        let key = try PrivateKey.generate(.ecP256).publicKey
        test.keychain.lock()
        let item = try test.keychain.add(.publicKey(key))
        #expect(!item.isPrivateKey && item.der == key.spki)
        #expect(try test.keychain.secretText(item.reference) == nil)
    }

    @Test func subjectsAreMatchedBeforeTheLimit() throws {
        let key = try PrivateKey.generate(.ecP256)
        for number in 0..<5 {
            var builder = try CertificateBuilder(
                commonName: "Number \(number)", publicKey: key.publicKey, notBefore: 0, notAfter: 9)
            builder.serialNumber = [UInt8(number + 1)]
            try test.keychain.add(.certificate(try builder.selfSigned(by: key)))
        }
        let query = try Query(.certificate, filters: [.subject(SubjectMatch(.endsWith, "4"))], limit: .one)
        #expect(try test.keychain.items(matching: query).found.map(\.commonName) == ["Number 4"])
    }

    @Test func bytesThatAreNoCertificateMatchNoSubject() throws {
        try test.keychain.add(NewItem(.certificate, [:], der: [0x30, 0]))
        let query = try Query(.certificate, filters: [.subject(SubjectMatch(.contains, ""))])
        #expect(try test.keychain.items(matching: query).found.isEmpty)
    }
}
