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

@Suite struct PrivateKeyOperationTests {
    private static let message = Array("to be signed".utf8)

    @Test(arguments: [CardAlgorithm.rsa1024, .rsa2048, .rsa3072])
    func rsaSignaturesVerify(algorithm: CardAlgorithm) throws {
        let card = try managed()
        let key = try card.generate(algorithm, at: 0x9A)
        try card.verify()
        let length = try #require(algorithm.modulusLength)
        let digest = try Digest.hash(Self.message, using: .sha256)
        // DigestInfo of SHA-256, RFC 8017 §9.2.
        let info = [UInt8](hex: "3031300D060960864801650304020105000420") + digest
        let block = [0x00, 0x01] + [UInt8](repeating: 0xFF, count: length - 3 - info.count) + [0x00] + info
        let answer = try card.privateKey(algorithm.rawValue, 0x9A, block)
        let signature = try CardConversation.response(in: answer)
        #expect(signature.count == length)
        #expect(try key.verify(signature, digest: digest, using: .rsaPKCS1(.sha256)))
    }

    @Test func rsaDecryptsWhatTheKeyEncrypted() throws {
        let card = try managed()
        let key = try card.generate(.rsa2048, at: 0x9D)
        try card.verify()
        let block = [0x00, 0x02] + [UInt8](repeating: 0x42, count: 254)
        let ciphertext = try key.encrypt(block.span, using: .raw)
        #expect(try CardConversation.response(in: card.privateKey(0x07, 0x9D, ciphertext)) == block)
    }

    @Test(arguments: [(CardAlgorithm.p256, 32), (.p384, 48)])
    func ecdsaSignaturesVerify(algorithm: CardAlgorithm, length: Int) throws {
        let card = try managed()
        let key = try card.generate(algorithm, at: 0x9A)
        try card.verify()
        let digest = [UInt8](repeating: 0x3C, count: length)
        let signature = try CardConversation.response(in: card.privateKey(algorithm.rawValue, 0x9A, digest))
        #expect(signature.first == 0x30)
        #expect(try key.verify(signature, digest: digest, using: .ecdsa(nil)))
    }

    @Test(arguments: [0, 1, 20, 1000])
    func ed25519SignsTheMessageItself(length: Int) throws {
        let card = try managed()
        let key = try card.generate(.ed25519, at: 0x9A)
        try card.verify()
        let message = [UInt8](repeating: 0x77, count: length)
        let signature = try CardConversation.response(in: card.privateKey(0xE0, 0x9A, message))
        #expect(signature.count == 64)
        #expect(try key.verify(signature, message: message, using: .ed25519))
    }

    @Test(arguments: [(CardAlgorithm.p256, KeyKind.ecP256), (.p384, .ecP384), (.x25519, .x25519)])
    func bothSidesAgree(algorithm: CardAlgorithm, kind: KeyKind) throws {
        let card = try managed()
        let key = try card.generate(algorithm, at: 0x9D)
        try card.verify()
        let peer = try PrivateKey.generate(kind)
        let answer = try card.privateKey(algorithm.rawValue, 0x9D, peer.publicKey.rawRepresentation, field: 0x85)
        let shared = try peer.sharedSecret(with: key)
        #expect(try CardConversation.response(in: answer) == Array(copying: shared.bytes))
    }

    @Test func everyReferenceHoldsAKey() throws {
        let card = try managed()
        for reference in CardKeyReference.keyPairs where reference != .secureMessaging {
            let key = try card.generate(.p256, at: reference.rawValue)
            try card.verify()
            let digest = [UInt8](repeating: reference.rawValue, count: 32)
            let answer = try card.privateKey(0x11, reference.rawValue, digest)
            let signature = try CardConversation.response(in: answer)
            #expect(try key.verify(signature, digest: digest, using: .ecdsa(nil)), "\(reference)")
        }
    }
}

@Suite struct PrivateKeyRefusalTests {
    @Test(arguments: [
        (UInt8(0x11), 31, TLVTag(0x81), StatusWord.incorrectData), (0x11, 33, 0x81, .incorrectData),
        (0x11, 0, 0x81, .incorrectData), (0x14, 48, 0x81, .incorrectParameters),
        (0x07, 256, 0x81, .incorrectParameters),
        (0x11, 64, 0x85, .incorrectData), (0x11, 65, 0x85, .incorrectData), (0x99, 32, 0x81, .incorrectParameters),
        (0x11, 32, 0x80, .incorrectData), (0x11, 32, 0x83, .incorrectData),
    ])
    func whatDoesNotFitTheKey(algorithm: UInt8, length: Int, field: TLVTag, status: StatusWord) throws {
        let card = try managed()
        _ = try card.generate(.p256, at: 0x9E)
        let input = [UInt8](repeating: 0x04, count: length)
        #expect(try card.privateKey(algorithm, 0x9E, input, field: field).status == status)
    }

    @Test func anRSABlockAboveTheModulus() throws {
        let card = try managed()
        _ = try card.generate(.rsa1024, at: 0x9E)
        #expect(try card.privateKey(0x06, 0x9E, Array(repeating: 0xFF, count: 128)).status == .incorrectData)
    }

    @Test(arguments: ["", "7C", "7C00", "7C0482008100FF", "7C05820081", "7D0482008100", "7C048200"])
    func whatIsNoTemplate(hex: String) throws {
        let card = try managed()
        _ = try card.generate(.p256, at: 0x9E)
        #expect(try card.send(0x87, 0x11, 0x9E, [UInt8](hex: hex)).status == .incorrectData)
    }

    @Test func aSlotWithoutKey() throws {
        let card = try managed()
        #expect(try card.privateKey(0x11, 0x9E, Array(repeating: 1, count: 32)).status == .referenceNotFound)
    }

    @Test(arguments: [UInt8(0x00), 0x81, 0x96, 0x9F, 0xF8])
    func aReferenceThatThereIsNot(reference: UInt8) throws {
        let card = try managed()
        #expect(try card.privateKey(0x11, reference, Array(repeating: 1, count: 32)).status == .incorrectParameters)
    }
}

@Suite struct PINPolicyTests {
    private static let digest = [UInt8](repeating: 0x11, count: 32)

    private func card(_ reference: UInt8, policies: [UInt8] = [], _ profile: CardProfile = .yubiKey57) throws
        -> CardConversation
    {
        let card = try managed(profile)
        _ = try card.generate(.p256, at: reference, policies: policies)
        return card
    }

    @Test(arguments: [0x9A, 0x9D, 0x82, 0x95] as [UInt8])
    func oncePerSession(reference: UInt8) throws {
        let card = try card(reference)
        #expect(try card.privateKey(0x11, reference, Self.digest).status == .securityStatusNotSatisfied)
        try card.verify()
        for _ in 0..<3 { #expect(try card.privateKey(0x11, reference, Self.digest).status == .success) }
    }

    @Test func alwaysForSignatures() throws {
        let card = try card(0x9C)
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .securityStatusNotSatisfied)
        try card.verify()
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .success)
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .securityStatusNotSatisfied)
        try card.verify()
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .success)
    }

    @Test func neverForCardAuthentication() throws {
        #expect(try card(0x9E).privateKey(0x11, 0x9E, Self.digest).status == .success)
    }

    @Test func anotherKeyUsesTheVerificationUp() throws {
        let card = try card(0x9C)
        _ = try card.generate(.p256, at: 0x9A)
        try card.verify()
        #expect(try card.privateKey(0x11, 0x9A, Self.digest).status == .success)
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .securityStatusNotSatisfied)
    }

    @Test(arguments: [("generic", StatusWord.success), ("pivapplet", .securityStatusNotSatisfied)])
    func readingInBetweenUsesItUpOnSomeCards(name: String, status: StatusWord) throws {
        let card = try card(0x9C, #require(CardProfile.named(name)))
        try card.verify()
        _ = try card.getData(0x7E)
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == status)
    }

    @Test(arguments: [(UInt8(1), StatusWord.success), (2, .securityStatusNotSatisfied)])
    func yubicoPoliciesOverrideTheSlots(policy: UInt8, beforePIN: StatusWord) throws {
        let card = try card(0x9C, policies: [0xAA, 0x01, policy])
        #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == beforePIN)
        try card.verify()
        for _ in 0..<2 { #expect(try card.privateKey(0x11, 0x9C, Self.digest).status == .success) }
    }

    @Test func cardAuthenticationWantsThePINOnPIVKeys() throws {
        let card = try card(0x9E, .pivKeyWithManagement)
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .securityStatusNotSatisfied)
        try card.verify()
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .success)
    }

}

extension CardProfile {
    fileprivate static let pivKeyWithManagement = pivKey.variant("pivkey-managed") {
        $0.quirks.remove(.noManagementKey)
    }
}

@Suite struct TouchPolicyTests {
    private static let digest = [UInt8](repeating: 0x11, count: 32)

    private func card(_ policy: UInt8, _ profile: CardProfile = .yubiKey57) throws -> (CardConversation, SimulatedClock)
    {
        let clock = SimulatedClock()
        let card = CardConversation(try VirtualCard(profile: profile, clock: clock))
        try card.select()
        try card.authenticate()
        _ = try card.generate(.p256, at: 0x9E, policies: [0xAB, 0x01, policy])
        return (card, clock)
    }

    @Test func aTouchServesOnce() throws {
        let (card, clock) = try card(2)
        card.card.touch()
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .success)
        #expect(clock.now == .zero)
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .securityStatusNotSatisfied)
        #expect(clock.now >= .seconds(15))
    }

    @Test func aTouchServesForFifteenSecondsWhereItIsCached() throws {
        let (card, clock) = try card(3)
        card.card.touch()
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .success)
        clock.sleep(for: .seconds(14))
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .success)
        clock.sleep(for: .seconds(1))
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .securityStatusNotSatisfied)
    }

    @Test func aTouchIsForgottenAfterFifteenSeconds() throws {
        let (card, clock) = try card(2)
        card.card.touch()
        clock.sleep(for: .seconds(15))
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .securityStatusNotSatisfied)
    }

    @Test func someCopiesSayThatConditionsAreNotSatisfied() throws {
        let clone = CardProfile.yubiKey57.variant("clone") { $0.quirks.insert(.touchTimeoutIs6985) }
        let (card, _) = try card(2, clone)
        #expect(try card.privateKey(0x11, 0x9E, Self.digest).status == .conditionsNotSatisfied)
    }

    @Test(arguments: ["AA0109", "AB0109", "AA00", "AA020101"])
    func unknownPoliciesAreRefused(policies: String) throws {
        let card = try managed()
        let parameters = TLV(0xAC, TLV(0x80, [0x11]).encoded() + [UInt8](hex: policies))
        #expect(try card.send(0x47, 0x00, 0x9A, parameters.encoded()).status == .incorrectData)
    }
}

@Suite struct HashingOnCardTests {
    @Test func aBareDigestIsRefusedAndAMessageSigned() throws {
        let card = try managed(.pivAppletHashing)
        let key = try card.generate(.p256, at: 0x9E)
        #expect(try card.privateKey(0x11, 0x9E, Array(repeating: 1, count: 32)).status == .incorrectData)
        for (identifier, digest) in [(UInt8(0xF0), DigestAlgorithm.sha1), (0xF1, .sha256)] {
            let signature = try CardConversation.response(in: card.privateKey(identifier, 0x9E, [1, 2, 3]))
            #expect(try key.verify(signature, message: [1, 2, 3], using: .ecdsa(digest)))
        }
    }

    @Test func ed25519HasAnotherIdentifierOnSomeCards() throws {
        let card = try managed(.solo)
        let answer = try card.send(0x47, 0x00, 0x9E, [0xAC, 0x03, 0x80, 0x01, 0x22])
        let key = try CardConversation.publicKey(in: answer, .ed25519)
        let signature = try CardConversation.response(in: card.privateKey(0x22, 0x9E, [7]))
        #expect(try key.verify(signature, message: [7], using: .ed25519))
        #expect(try card.privateKey(0xE0, 0x9E, [7]).status == .incorrectParameters)
    }
}
