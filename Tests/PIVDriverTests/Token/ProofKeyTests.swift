import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// The key that tells a card from a copy of its readable content.
@Suite struct ProofKeyTests {
    private func proofKey(_ desk: Desk) throws(TokenError) -> ProofKey? {
        try desk.slot.read { (token, card, _) throws(TokenError) in try token.proofKey(&card) }
    }

    private func prove(_ key: ProofKey, _ desk: Desk) throws(TokenError) {
        try desk.slot.read { (token, card, _) throws(TokenError) in try token.prove(key, &card) }
    }

    private func known(_ object: String, _ reference: CardKeyReference, challenged: Bool) throws -> ProofKey {
        ProofKey(
            object: TokenObjectID(object), publicKey: try IssuedCard.publicKey(reference, .p256).spki,
            canBeChallenged: challenged)
    }

    @Test func itIs9EsWhichSignsWithoutAPIN() throws {
        #expect(try proofKey(Desk()) == known("9E", 0x9E, challenged: true))
    }

    @Test func itIs9AsWhere9EWantsAPINOrATouch() throws {
        for card in [
            IssuedCard(profile: .yubiKey57, pinPolicies: [0x9E: .once]),
            IssuedCard(profile: .yubiKey57, touchPolicies: [0x9E: .always]),
        ] {
            #expect(try proofKey(Desk(card)) == known("9A", 0x9A, challenged: false))
        }
    }

    @Test func whereA9AKeySignsWithoutAPINItIsChallenged() throws {
        let card = IssuedCard(profile: .yubiKey57, keys: [0x9A: .p256], pinPolicies: [0x9A: .never])
        let desk = try Desk(card)
        let key = try known("9A", 0x9A, challenged: true)
        #expect(try proofKey(desk) == key)
        desk.forgetCommands()
        try prove(key, desk)
        #expect(desk.commands == [0x87])
    }

    @Test func aCardWithoutKeysHasNone() throws {
        #expect(try proofKey(Desk(IssuedCard(keys: [:]))) == nil)
        #expect(try proofKey(Desk(IssuedCard(keys: [0x9D: .p256]))) == nil)
    }

    /// A card that hashes by itself, as old PivApplet does, cannot sign a challenge.
    @Test func aKeyThatSignsNoDigestIsCompared() throws {
        #expect(try proofKey(Desk(IssuedCard(profile: .pivAppletHashing)))?.canBeChallenged == false)
    }

    @Test(arguments: [CardAlgorithm.p256, .p384, .rsa2048])
    func theChallengeIsCheckedWithTheKeyThatIsMeantWhateverTheCardTells(algorithm: CardAlgorithm) throws {
        let desk = try Desk(IssuedCard(keys: [0x9A: algorithm, 0x9E: algorithm]))
        let own = try #require(try proofKey(desk))
        try prove(own, desk)
        let other = try ProofKey(
            object: own.object, publicKey: PrivateKey.generate(algorithm.kind).publicKey.spki, canBeChallenged: true)
        #expect(throws: TokenError(.notProven, "")) { try prove(other, desk) }
        #expect(throws: TokenError(.notProven, "")) {
            try prove(ProofKey(object: TokenObjectID("9F"), publicKey: own.publicKey, canBeChallenged: true), desk)
        }
        #expect(desk.pinsSent == 0)
    }

    /// Challenges differ, so that a recorded answer is of no use.
    @Test func noTwoChallengesAreTheSame() throws {
        let desk = try Desk()
        let key = try #require(try proofKey(desk))
        for _ in 0..<3 { try prove(key, desk) }
        let challenges = desk.trace.lines.filter { $0.hasPrefix("> 0087119E") }
        #expect(challenges.count == 3 && Set(challenges).count == 3)
    }

    @Test func whatKeepsTheCardFromAnsweringIsNoDisproof() throws {
        let desk = try Desk()
        let key = try #require(try proofKey(desk))
        desk.reader.remove()
        #expect(throws: TokenError(.card(.noCard), "")) { try prove(key, desk) }
    }
}
