import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

extension CardConversation {
    /// The content of a field of the answer to a template.
    fileprivate func authenticate(_ algorithm: UInt8, _ template: [UInt8], field: TLVTag) throws -> [UInt8] {
        let answer = try send(0x87, algorithm, 0x9B, template)
        #expect(answer.status == .success)
        var reader = try TLVReader.only(0x7C, in: answer.data).children()
        return try reader.require(field).value
    }

    fileprivate func respond(_ algorithm: UInt8, _ response: [UInt8]) throws -> StatusWord {
        try send(0x87, algorithm, 0x9B, TLV(0x7C, [TLV(0x82, response)]).encoded()).status
    }
}

private func encrypt(_ block: [UInt8], _ cipher: BlockCipher = .tripleDES) throws -> [UInt8] {
    let key = CardConversation.defaultManagementKey
    return try cipher.encrypt(block, key: Secret(copying: key.span))
}

private func selected(_ profile: CardProfile = .generic) throws -> CardConversation {
    let card = try CardConversation(profile)
    try card.select()
    return card
}

@Suite struct ManagementKeyTests {
    @Test(arguments: [UInt8(0x00), 0x03])
    func externalAuthentication(algorithm: UInt8) throws {
        let card = try selected()
        let challenge = try card.authenticate(algorithm, [0x7C, 0x02, 0x81, 0x00], field: 0x81)
        #expect(challenge.count == 8)
        #expect(try card.respond(algorithm, encrypt(challenge)) == .success)
        #expect(try card.putData(0x5FC102, [1]) == .success)
    }

    @Test(arguments: [CardProfile.generic, .yubiKey57])
    func mutualAuthentication(profile: CardProfile) throws {
        let card = try selected(profile)
        #expect(try card.authenticate() == .success)
        #expect(try card.putData(0x5FC102, [1]) == .success)
    }

    @Test func internalAuthenticationShowsThatTheCardHasTheKey() throws {
        let card = try selected()
        let challenge = [UInt8](repeating: 0x99, count: 8)
        let template = TLV(0x7C, [TLV(0x81, challenge), TLV(0x82, [UInt8]())]).encoded()
        #expect(try card.authenticate(0x03, template, field: 0x82) == encrypt(challenge))
        #expect(try card.putData(0x5FC102, [1]) == .securityStatusNotSatisfied)
    }

    @Test func theCardDoesNotAnswerItsOwnChallenge() throws {
        let card = try selected()
        let challenge = try card.authenticate(0x03, [0x7C, 0x02, 0x81, 0x00], field: 0x81)
        let template = TLV(0x7C, [TLV(0x81, challenge), TLV(0x82, [UInt8]())]).encoded()
        let stolen = try card.authenticate(0x03, template, field: 0x82)
        #expect(try card.respond(0x03, stolen) == .conditionsNotSatisfied)
        #expect(try card.putData(0x5FC102, [1]) == .securityStatusNotSatisfied)
    }

    @Test func aChallengeServesOnce() throws {
        let card = try selected()
        let challenge = try card.authenticate(0x03, [0x7C, 0x02, 0x81, 0x00], field: 0x81)
        #expect(try card.respond(0x03, Array(repeating: 0, count: 8)) == .securityStatusNotSatisfied)
        #expect(try card.respond(0x03, encrypt(challenge)) == .conditionsNotSatisfied)
    }

    @Test func everyChallengeIsAnother() throws {
        let card = try selected()
        let challenges = try (0..<20).map { _ in
            try card.authenticate(0x03, [0x7C, 0x02, 0x81, 0x00], field: 0x81)
        }
        #expect(Set(challenges).count == 20)
    }

    @Test func aWrongKeyEndsWhatWasProved() throws {
        let card = try selected()
        try card.authenticate()
        #expect(try card.authenticate(key: Array(repeating: 7, count: 24)) == .securityStatusNotSatisfied)
        #expect(try card.putData(0x5FC102, [1]) == .securityStatusNotSatisfied)
    }

    @Test func theKeyHasOneAlgorithm() throws {
        #expect(try selected(.yubiKey57).authenticate(.tripleDES) == .incorrectParameters)
        #expect(try selected(.yubiKey54).authenticate(.aes192) == .incorrectParameters)
    }

    @Test func resetForgetsTheAuthentication() throws {
        let card = try selected()
        try card.authenticate()
        card.card.reset()
        try card.select()
        #expect(try card.putData(0x5FC102, [1]) == .securityStatusNotSatisfied)
    }

    @Test(arguments: ["7C00", "7C0480008100", "7C028000FF", "7C0481008200", "7C0582030102FF", "7C0681020102 8200"])
    func improperTemplatesAreRefused(hex: String) throws {
        let status = try selected().send(0x87, 0x03, 0x9B, [UInt8](hex: hex)).status
        #expect(status == .incorrectData || status == .conditionsNotSatisfied)
    }

    @Test func pivKeysHaveNone() throws {
        #expect(try selected(.pivKey).authenticate() == .referenceNotFound)
    }

    @Test func aSecondChallengeIsRefusedByDualCards() throws {
        let card = try selected(.dualCAC)
        _ = try card.authenticate(0x03, [0x7C, 0x02, 0x81, 0x00], field: 0x81)
        #expect(try card.send(0x87, 0x03, 0x9B, [0x7C, 0x02, 0x81, 0x00]).status == .incorrectData)
    }
}

@Suite struct GenerateKeyPairTests {
    @Test func nothingIsGeneratedWithoutTheManagementKey() throws {
        let card = try selected()
        try card.verify()
        #expect(try card.send(0x47, 0x00, 0x9A, [0xAC, 0x03, 0x80, 0x01, 0x11]).status == .securityStatusNotSatisfied)
    }

    @Test(arguments: [
        ("AC00", StatusWord.incorrectData), ("AC0380010C", .incorrectData), ("AC03800199", .incorrectData),
        ("AC0380", .incorrectData), ("8001 11", .incorrectData), ("AC038001E0", .incorrectData), ("", .incorrectData),
        ("AC06800111AA0101", .incorrectData),
    ])
    func improperParametersAreRefused(hex: String, status: StatusWord) throws {
        let card = try selected()
        try card.authenticate()
        #expect(try card.send(0x47, 0x00, 0x9A, [UInt8](hex: hex)).status == status)
    }

    @Test(arguments: [UInt8(0x9B), 0x80, 0xF9, 0x00])
    func otherReferencesAreRefused(reference: UInt8) throws {
        let card = try selected()
        try card.authenticate()
        #expect(
            try card.send(0x47, 0x00, reference, [0xAC, 0x03, 0x80, 0x01, 0x11]).status == .incorrectParameters)
    }

    @Test func aNewKeyReplacesTheOld() throws {
        let card = try selected()
        try card.authenticate()
        #expect(try card.generate(.p256, at: 0x9A) != card.generate(.p256, at: 0x9A))
    }

    @Test func curvesThatTheCardLacksAreRefused() throws {
        let card = try selected(.yubiKeyNEO)
        try card.authenticate()
        #expect(try card.send(0x47, 0x00, 0x9A, [0xAC, 0x03, 0x80, 0x01, 0x14]).status == .incorrectData)
    }
}
