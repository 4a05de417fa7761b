import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

extension CardConversation {
    /// The fields of an object, by their tags.
    func fields(_ tag: TLVTag) throws -> [TLVTag: [UInt8]] {
        let answer = try getData(tag)
        var reader = TLVReader(try TLVReader.only(tag == 0x7E ? 0x7E : 0x53, in: answer.data).value)
        return Dictionary(try reader.all().map { ($0.tag, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    func certificate(_ tag: TLVTag) throws -> Certificate {
        try Certificate(der: #require(fields(tag)[0x70]))
    }
}

private func open(_ builder: VirtualCardBuilder) throws -> CardConversation {
    let card = CardConversation(try builder.build())
    try card.select()
    return card
}

@Suite struct VirtualCardBuilderTests {
    private static let certificates: [(TLVTag, CardKeyReference)] = [
        (0x5FC105, .authentication), (0x5FC10A, .signature), (0x5FC10B, .keyManagement),
        (0x5FC101, .cardAuthentication),
    ]

    @Test(arguments: [CardAlgorithm.p256, .p384, .rsa2048])
    func fourKeysHaveTheirCertificates(algorithm: CardAlgorithm) throws {
        let card = try open(VirtualCardBuilder(fourKeys: algorithm))
        for (tag, reference) in Self.certificates {
            let certificate = try card.certificate(tag)
            #expect(certificate.publicKey == card.card.publicKey(of: reference))
            #expect(certificate.subject.commonName == "Jo Doe")
        }
    }

    @Test func certificatesSayWhatTheirKeysAreFor() throws {
        let card = try open(VirtualCardBuilder(fourKeys: .rsa2048))
        let authentication = try card.certificate(0x5FC105)
        #expect(authentication.extendedKeyUsage?.contains(.smartCardLogon) == true)
        #expect(authentication.userPrincipalNames == ["jo.doe@example.com"])
        #expect(try card.certificate(0x5FC10A).keyUsage == [.digitalSignature, .nonRepudiation])
        #expect(try card.certificate(0x5FC10B).keyUsage == .keyEncipherment)
        #expect(try card.certificate(0x5FC101).extendedKeyUsage == [.pivCardAuthentication])
    }

    @Test func theCHUIDHoldsFASCNAndGUID() throws {
        var builder = VirtualCardBuilder()
        builder.guid = [UInt8](0x10..<0x20)
        let fields = try open(builder).fields(0x5FC102)
        #expect(fields[0x30]?.count == 25)
        #expect(fields[0x30]?.prefix(3) == [0xD4, 0xE7, 0x39])
        #expect(fields[0x34] == builder.guid)
        #expect(fields[0x35] == Array("20431231".utf8))
    }

    @Test func token2HasNoIdentifiers() throws {
        let fields = try open(VirtualCardBuilder(profile: .token2)).fields(0x5FC102)
        #expect(fields[0x30] == [UInt8](repeating: 0, count: 25))
        #expect(fields[0x34] == [UInt8](repeating: 0, count: 16))
    }

    @Test func theCapabilityContainerHasACardIdentifier() throws {
        #expect(try open(VirtualCardBuilder()).fields(0x5FC107)[0xF0]?.count == 21)
    }

    @Test func printedInformationIsBehindThePIN() throws {
        let card = try open(VirtualCardBuilder())
        #expect(try card.getData(0x5FC109).status == .securityStatusNotSatisfied)
        try card.verify()
        #expect(try card.fields(0x5FC109)[0x01] == Array("Jo Doe".utf8))
    }

    @Test(arguments: [("generic", true), ("yubikey-5.7", false)])
    func retiredKeysAreInTheHistoryWhereTheCardKeepsOne(name: String, hasHistory: Bool) throws {
        var builder = VirtualCardBuilder(profile: try #require(CardProfile.named(name)))
        for reference in CardKeyReference.retired.prefix(3) { builder.keys[reference] = .init(.p256) }
        let card = try open(builder)
        #expect(try card.getData(0x5FC10C).status == (hasHistory ? .success : .objectNotFound))
        if hasHistory { #expect(try card.fields(0x5FC10C) == [0xC1: [3], 0xC2: [0], 0xFE: []]) }
        #expect(try card.certificate(0x5FC10F).commonName == "Jo Doe (key 84)")
    }

    @Test(arguments: [("generic", UInt8(0x01)), ("old-gzip", 0x80)])
    func aCompressedCertificateHasTheProfilesFlag(name: String, flag: UInt8) throws {
        var builder = VirtualCardBuilder(profile: try #require(CardProfile.named(name)))
        builder.keys[.authentication] = .init(.p256)
        builder.keys[.authentication]?.isCompressed = true
        let fields = try open(builder).fields(0x5FC105)
        #expect(fields[0x71] == [flag])
        #expect(fields[0x70]?.prefix(2) == [0x1F, 0x8B])
    }

    @Test func aKeyMayHaveNoCertificate() throws {
        var builder = VirtualCardBuilder(profile: .yubiKey57)
        builder.keys[.authentication] = .init(.ed25519)
        builder.keys[.authentication]?.hasCertificate = false
        let card = try open(builder)
        #expect(try card.getData(0x5FC105).status == .objectNotFound)
        #expect(try card.send(0xF7, 0x00, 0x9A).status == .success)
    }

    @Test(arguments: [
        (VirtualCardBuilder.GlobalPIN.satisfies, UInt8(0x10)), (VirtualCardBuilder.GlobalPIN.isPrimary, UInt8(0x20)),
    ])
    func theGlobalPINDoesInPlaceOfThePIVPIN(globalPIN: VirtualCardBuilder.GlobalPIN, preference: UInt8) throws {
        var builder = VirtualCardBuilder(fourKeys: .p256)
        builder.globalPIN = globalPIN
        let card = try open(builder)
        #expect(try card.fields(0x7E)[0x5F2F] == [0x60, preference])
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(try card.privateKey(0x11, 0x9A, digest).status == .securityStatusNotSatisfied)
        #expect(try card.verify(reference: 0x00) == .success)
        #expect(try card.privateKey(0x11, 0x9A, digest).status == .success)
        #expect(try card.send(0x20, 0x00, 0x80, le: nil).status == 0x63C3)
    }

    @Test func whatTheProfileHasNoRoomForIsRefused() throws {
        #expect(throws: VirtualCardError(.unsupported, "")) {
            try VirtualCardBuilder(profile: .yubiKeyNEO, fourKeys: .p384).build()
        }
        var builder = VirtualCardBuilder(profile: .generic)
        builder.keys[.attestation] = .init(.p256)
        #expect(throws: VirtualCardError(.unsupported, "")) { try builder.build() }
    }

    @Test(arguments: CardProfile.all)
    func everyProfileCanBeBuilt(profile: CardProfile) throws {
        let card = CardConversation(try VirtualCardBuilder(profile: profile, fourKeys: .p256).build())
        let selected = try card.select()
        #expect([.success, .applicationDeactivated].contains(selected.status))
        let tag: TLVTag = profile.transport.interface == .contact ? 0x5FC105 : 0x5FC101
        #expect(try card.getData(tag).status == .success)
    }
}
