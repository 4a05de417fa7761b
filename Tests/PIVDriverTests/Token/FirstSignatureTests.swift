import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

/// The main job, from insertion to a signature, on a ``SmallCard``.
@Suite struct FirstSignatureTests {
    private func token(_ card: SmallCard, _ transaction: inout CardTransaction) throws -> any Token {
        try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
    }

    @Test(arguments: [KeyKind.ecP256, .rsa(bits: 2048)])
    func aNamedKeySignsAfterItsPIN(kind: KeyKind) throws {
        let card = SmallCard()
        let key = try PrivateKey.generate(kind)
        try card.provision(0x9A, tag: "5FC105", key)
        var transaction = card.transaction()
        var token = try token(card, &transaction)
        let digest = try Digest.hash(Array("hello".utf8), using: .sha256)
        let isRSA = kind != .ecP256
        let operation = TokenOperation(
            key: TokenObjectID("9A"), action: .sign(isRSA ? .rsaPKCS1(.sha256) : .ecdsa(nil), digest))

        #expect(throws: TokenError(.pinRequired, "")) { _ = try token.perform(operation, &transaction).count }
        let secret = try token.perform(operation, presenting: PIN("123456"), lastTry: .keep, &transaction)
        let signature = Array(copying: secret.bytes)
        #expect(
            try key.publicKey.verify(
                signature, digest: digest, using: isRSA ? .rsaPKCS1(.sha256) : .ecdsa(nil)))
        // SELECT, certificate, Discovery Object, status, VERIFY, GENERAL AUTHENTICATE.
        #expect(card.commands.filter { !$0.hasPrefix("10") }.count == 6)
    }

    @Test func identityTakesTwoCommands() throws {
        let card = SmallCard()
        card.objects["5FC102"] = SmallCard.chuid(guid: "0102030405060708090A0B0C0D0E0F10")
        var transaction = card.transaction()
        var token = try token(card, &transaction)
        let identity = try token.identity(&transaction)
        #expect(identity.id.description == "piv:01020304-0506-0708-090a-0b0c0d0e0f10")
        #expect(card.commands.count == 2)
    }

    @Test func listingReadsEachPrimarySlotOnce() throws {
        let card = SmallCard()
        let key = try PrivateKey.generate(.ecP256)
        for (slot, tag) in [(0x9A, "5FC105"), (0x9C, "5FC10A"), (0x9D, "5FC10B"), (0x9E, "5FC101")] {
            try card.provision(UInt8(slot), tag: tag, key)
        }
        var transaction = card.transaction()
        var token = try token(card, &transaction)
        let inventory = try token.inventory(.all, &transaction)
        #expect(inventory.objects.map(\.id.rawValue) == ["9A", "9C", "9D", "9E"])
        #expect(inventory.failures.isEmpty)
        // SELECT, a question for metadata, four certificates, Key History.
        #expect(card.commands.count == 7)
        _ = try token.inventory(.all, &transaction)
        #expect(card.commands.count == 7)
    }
}
