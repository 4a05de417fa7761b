import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

private func managed(_ profile: CardProfile = .yubiKey57) throws -> CardConversation {
    let card = try CardConversation(profile)
    try card.select()
    #expect(try card.authenticate() == .success)
    return card
}

private func metadataFields(_ answer: ResponseAPDU) throws -> [TLVTag: [UInt8]] {
    #expect(answer.status == .success)
    var reader = TLVReader(answer.data)
    return Dictionary(try reader.all().map { ($0.tag, $0.value) }, uniquingKeysWith: { first, _ in first })
}

extension CardConversation {
    fileprivate func metadata(_ reference: UInt8) throws -> [TLVTag: [UInt8]] {
        try metadataFields(send(0xF7, 0x00, reference))
    }
}

@Suite struct VersionTests {
    @Test(
        arguments: [
            ("yubikey-5.7", [5, 7, 1]), ("yubikey-5.4", [5, 4, 3]), ("yubikey-4.3", [4, 3, 5]),
            ("yubikey-neo", [1, 0, 4]),
            ("token2", [5, 7, 0]),
        ] as [(String, [UInt8])])
    func isTheProfiles(name: String, version: [UInt8]) throws {
        let card = try CardConversation(#require(CardProfile.named(name)))
        try card.select()
        #expect(try card.send(0xFD, 0x00, 0x00).data == version)
    }

    @Test func theSerialNumberHasFourBytes() throws {
        let card = CardConversation(try VirtualCard(profile: .yubiKey57, serialNumber: 0x0102_0304))
        try card.select()
        #expect(try card.send(0xF8, 0x00, 0x00).data == [1, 2, 3, 4])
    }

    @Test(arguments: [
        (UInt8(0xF6), "yubikey-5.4"), (0xF7, "yubikey-4.3"), (0xF8, "yubikey-4.3"), (0xF9, "yubikey-neo"),
        (0xFD, "generic"), (0xFE, "generic"), (0xF7, "token2"), (0xF6, "token2"), (0xF9, "token2"),
    ])
    func instructionsThatTheVersionLacksAreUnknown(instruction: UInt8, name: String) throws {
        let card = try CardConversation(#require(CardProfile.named(name)))
        try card.select()
        #expect(try card.send(instruction, 0x9A, 0x9A).status == .instructionNotSupported)
    }
}

@Suite struct MetadataTests {
    @Test func ofAGeneratedKey() throws {
        let card = try managed()
        let key = try card.generate(.p256, at: 0x9A, policies: [0xAA, 0x01, 0x03, 0xAB, 0x01, 0x02])
        let metadata = try card.metadata(0x9A)
        #expect(metadata[0x01] == [0x11])
        #expect(metadata[0x02] == [0x03, 0x02])
        #expect(metadata[0x03] == [0x01])
        #expect(metadata[0x04] == TLV(0x86, key.rawRepresentation).encoded())
    }

    @Test(arguments: [(UInt8(0x9A), UInt8(2)), (0x9C, 3), (0x9D, 2), (0x9E, 1), (0x82, 2)])
    func namesTheSlotsOwnPolicy(reference: UInt8, policy: UInt8) throws {
        let card = try managed()
        _ = try card.generate(.p256, at: reference)
        #expect(try card.metadata(reference)[0x02] == [policy, 0x01])
    }

    @Test func ofPINAndPUK() throws {
        let card = try managed()
        #expect(try card.metadata(0x80) == [0x01: [0xFF], 0x05: [1], 0x06: [3, 3]])
        try card.verify("000000")
        #expect(try card.metadata(0x80)[0x06] == [3, 2])
        let change = CardConversation.padded("12345678") + CardConversation.padded("87654321")
        #expect(try card.send(0x24, 0x00, 0x81, change, le: nil).status == .success)
        #expect(try card.metadata(0x81)[0x05] == [0])
    }

    @Test func ofTheManagementKey() throws {
        #expect(try managed().metadata(0x9B) == [0x01: [0x0A], 0x02: [0, 1], 0x05: [1]])
    }

    @Test func changesNothing() throws {
        let card = try managed()
        _ = try card.generate(.p256, at: 0x9C)
        try card.verify()
        _ = try card.metadata(0x9C)
        #expect(try card.privateKey(0x11, 0x9C, Array(repeating: 1, count: 32)).status == .success)
    }

    @Test func ofAnEmptySlotThereIsNone() throws {
        #expect(try managed().send(0xF7, 0x00, 0x9A).status == .referenceNotFound)
        // ykman asks every key for the fingerprints of a YubiKey Bio.
        for reference in [0x42, 0x96] as [UInt8] {
            #expect(try managed().send(0xF7, 0x00, reference).status == .referenceNotFound)
        }
        #expect(try managed(.pivAppletMetadata).send(0xF7, 0x00, 0x42).status == .incorrectParameters)
    }
}

@Suite struct ImportTests {
    private func send(_ card: CardConversation, _ algorithm: UInt8, _ data: [UInt8]) throws -> StatusWord {
        try card.send(0xFE, algorithm, 0x9E, data, le: nil).status
    }

    private func encode(_ secret: borrowing Secret, _ tag: TLVTag) -> [UInt8] {
        TLV(tag, Array(copying: secret.bytes)).encoded()
    }

    @Test(arguments: [(UInt8(0x06), 1024), (0x07, 2048)])
    func anRSAKeySignsAsBefore(algorithm: UInt8, bits: Int) throws {
        let card = try managed()
        let key = try PrivateKey.generate(.rsa(bits: bits))
        let data = try rsaFields(key)
        #expect(try send(card, algorithm, data) == .success)
        #expect(card.card.publicKey(of: .cardAuthentication) == key.publicKey)
        #expect(try card.metadata(0x9E)[0x03] == [0x02])
        let block = [0x00] + [UInt8](repeating: 0x42, count: bits / 8 - 1)
        let result = try CardConversation.response(in: card.privateKey(algorithm, 0x9E, block))
        #expect(try key.publicKey.encrypt(result.span, using: .raw) == block)
    }

    private func rsaFields(_ key: PrivateKey) throws -> [UInt8] {
        let primes = try key.rsaPrimes()
        return encode(primes.p, 0x01) + encode(primes.q, 0x02) + encode(primes.dP, 0x03) + encode(primes.dQ, 0x04)
            + encode(primes.qInv, 0x05)
    }

    @Test(arguments: [
        (UInt8(0x11), KeyKind.ecP256, TLVTag(0x06)), (0x14, .ecP384, 0x06), (0xE0, .ed25519, 0x07),
        (0xE1, .x25519, 0x08),
    ])
    func aKeyOfOneNumberIsTheSameOnTheCard(algorithm: UInt8, kind: KeyKind, tag: TLVTag) throws {
        let card = try managed()
        let key = try PrivateKey.generate(kind)
        let scalar = try key.scalar()
        #expect(try send(card, algorithm, encode(scalar, tag) + [0xAA, 0x01, 0x02, 0xAB, 0x01, 0x03]) == .success)
        #expect(card.card.publicKey(of: .cardAuthentication) == key.publicKey)
        #expect(try card.metadata(0x9E)[0x02] == [0x02, 0x03])
    }

    @Test(arguments: [
        (UInt8(0x11), ""), (UInt8(0x11), "06020102"), (UInt8(0x11), "0720"), (UInt8(0x07), "010101"),
        (UInt8(0x07), "010103020105030101040101050102"), (UInt8(0xE0), "0701AA"), (UInt8(0x11), "0620FF"),
        (UInt8(0x11), "061F01010101010101010101010101010101010101010101010101010101010101"),
        (UInt8(0x11), "0621000101010101010101010101010101010101010101010101010101010101010101"),
        (UInt8(0x11), "06200000000000000000000000000000000000000000000000000000000000000000"),
    ])
    func whatIsNoKeyIsRefused(algorithm: UInt8, hex: String) throws {
        #expect(try send(managed(), algorithm, [UInt8](hex: hex)) == .incorrectData)
    }

    @Test func aKeyOfAnotherSizeIsRefused() throws {
        #expect(try send(managed(), 0x07, rsaFields(PrivateKey.generate(.rsa(bits: 1024)))) == .incorrectData)
    }

    @Test func nothingIsImportedWithoutTheManagementKey() throws {
        let card = try CardConversation(.yubiKey57)
        try card.select()
        #expect(try send(card, 0x11, [0x06, 0x01, 0x01]) == .securityStatusNotSatisfied)
    }
}

@Suite struct AttestationTests {
    private func authority(_ card: CardConversation) throws -> Certificate {
        try card.certificate(0x5FFF01)
    }

    @Test func certifiesAGeneratedKey() throws {
        let card = try managed()
        let key = try card.generate(.p384, at: 0x9C, policies: [0xAB, 0x01, 0x03])
        let certificate = try Certificate(der: card.send(0xF9, 0x9C, 0x00).data)
        #expect(certificate.publicKey == key)
        #expect(try certificate.verify(issuedBy: authority(card)))
        #expect(certificate.extensionValue("1.3.6.1.4.1.41482.3.3") == [5, 7, 1])
        #expect(certificate.extensionValue("1.3.6.1.4.1.41482.3.7") == [0x02, 0x03, 0x74, 0xCB, 0xB1])
        #expect(certificate.extensionValue("1.3.6.1.4.1.41482.3.8") == [0x03, 0x03])
        #expect(certificate.commonName == "YubiKey PIV Attestation 9c")
    }

    @Test func doesNotCertifyAnImportedKey() throws {
        let card = try managed()
        let scalar = [UInt8](repeating: 0x11, count: 32)
        #expect(try card.send(0xFE, 0x11, 0x9A, TLV(0x06, scalar).encoded(), le: nil).status == .success)
        #expect(try card.send(0xF9, 0x9A, 0x00).status == .incorrectData)
    }

    @Test(arguments: [
        (UInt8(0x9A), StatusWord.referenceNotFound), (0xF9, .incorrectParameters), (0x00, .incorrectParameters),
    ])
    func knowsNoOtherKey(reference: UInt8, status: StatusWord) throws {
        #expect(try managed().send(0xF9, reference, 0x00).status == status)
    }

    /// Basic constraints are in no attestation, and not in the certificate of a YubiKey 4's attestation key.
    @Test(arguments: [("yubikey-5.7", true), ("yubikey-4.3", false)])
    func basicConstraintsAreOnlyWhereRealCardsHaveThem(name: String, isInAuthority: Bool) throws {
        let card = try managed(#require(CardProfile.named(name)))
        let key = try card.generate(.p256, at: 0x9A)
        let certificate = try Certificate(der: card.send(0xF9, 0x9A, 0x00).data)
        #expect(certificate.publicKey == key && certificate.extensionValue("2.5.29.19") == nil)
        let authority = try authority(card)
        #expect(authority.isCA == isInAuthority)
        #expect((authority.extensionValue("2.5.29.19") != nil) == isInAuthority)
    }
}

@Suite struct AdministrationTests {
    @Test(arguments: [
        (CardAlgorithm.tripleDES, 24), (CardAlgorithm.aes128, 16), (CardAlgorithm.aes192, 24),
        (CardAlgorithm.aes256, 32),
    ])
    func theManagementKeyIsReplaced(algorithm: CardAlgorithm, length: Int) throws {
        let card = try managed()
        let key = (0..<length).map { UInt8($0 * 7 + 1) }
        let data = [algorithm.rawValue, 0x9B, UInt8(length)] + key
        #expect(try card.send(0xFF, 0xFF, 0xFF, data, le: nil).status == .success)
        card.card.reset()
        try card.select()
        #expect(try card.authenticate() != .success)
        #expect(try card.authenticate(algorithm, key: key) == .success)
        #expect(try card.metadata(0x9B)[0x05] == [0])
    }

    @Test(arguments: ["", "039B18", "039B0101", "039C18" + String(repeating: "01", count: 24), "119B20", "0A9B1801"])
    func anImproperManagementKeyIsRefused(hex: String) throws {
        #expect(try managed().send(0xFF, 0xFF, 0xFF, [UInt8](hex: hex), le: nil).status == .incorrectData)
    }

    @Test func aManagementKeyMayWantATouch() throws {
        let card = try managed()
        let data = [0x0A, 0x9B, 0x18] + CardConversation.defaultManagementKey
        #expect(try card.send(0xFF, 0xFF, 0xFE, data, le: nil).status == .success)
        #expect(try card.authenticate() == .securityStatusNotSatisfied)
        card.card.touch()
        #expect(try card.authenticate() == .success)
    }

    @Test func retriesAreSetAndPINsPutBack() throws {
        let card = try managed()
        let change = CardConversation.padded("123456") + CardConversation.padded("246813")
        #expect(try card.send(0x24, 0x00, 0x80, change, le: nil).status == .success)
        #expect(try card.send(0xFA, 8, 9, le: nil).status == .securityStatusNotSatisfied)
        try card.verify("246813")
        #expect(try card.send(0xFA, 8, 9, le: nil).status == .success)
        #expect(try card.metadata(0x80)[0x06] == [8, 8])
        #expect(try card.metadata(0x81)[0x06] == [9, 9])
        #expect(try card.verify("123456") == .success)
    }

    @Test func moreTriesThanAStatusWordHoldsAreFifteen() throws {
        let card = try managed()
        try card.verify()
        _ = try card.send(0xFA, 255, 3, le: nil)
        #expect(try card.verify("000000") == 0x63CF)
        #expect(try card.metadata(0x80)[0x06] == [255, 254])
        #expect(try card.send(0xFA, 0, 3, le: nil).status == .incorrectParameters)
    }

    @Test func onlyWhatIsBlockedIsReset() throws {
        let card = try managed()
        _ = try card.generate(.p256, at: 0x9A)
        try card.putData(0x5FC102, [1])
        #expect(try card.send(0xFB, 0x00, 0x00, le: nil).status == .conditionsNotSatisfied)
        for _ in 0..<3 { try card.verify("000000") }
        #expect(try card.send(0xFB, 0x00, 0x00, le: nil).status == .conditionsNotSatisfied)
        let wrong = CardConversation.padded("00000000") + CardConversation.padded("246813")
        for _ in 0..<3 { _ = try card.send(0x2C, 0x00, 0x80, wrong, le: nil) }
        #expect(try card.send(0xFB, 0x00, 0x00, le: nil).status == .success)
        #expect(try card.getData(0x5FC102).status == .objectNotFound)
        #expect(try card.send(0xF7, 0x00, 0x9A).status == .referenceNotFound)
        #expect(try card.verify() == .success)
        #expect(try card.authenticate() == .success)
        #expect(try card.getData(0x5FFF01).status == .success)
        #expect(card.card.publicKey(of: .attestation) != nil)
    }

    @Test func aKeyIsMovedAndDeleted() throws {
        let card = try managed()
        let key = try card.generate(.p256, at: 0x9A)
        #expect(try card.send(0xF6, 0x82, 0x9A, le: nil).status == .success)
        #expect(card.card.publicKey(of: .authentication) == nil)
        #expect(card.card.publicKey(of: 0x82) == key)
        #expect(try card.send(0xF6, 0xFF, 0x82, le: nil).status == .success)
        #expect(card.card.publicKey(of: 0x82) == nil)
        #expect(try card.send(0xF6, 0xFF, 0x82, le: nil).status == .referenceNotFound)
    }

    @Test(arguments: [
        (UInt8(0x9B), UInt8(0x9A)), (0xF9, 0x9A), (0x9A, 0xF9), (0x9A, 0x9A), (0x00, 0x9A), (0x9A, 0x9B),
    ])
    func aKeyIsMovedBetweenItsSlotsAlone(target: UInt8, source: UInt8) throws {
        let card = try managed()
        _ = try card.generate(.p256, at: 0x9A)
        #expect(try card.send(0xF6, target, source, le: nil).status == .incorrectParameters)
    }
}
