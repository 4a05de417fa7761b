import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// Cards that have a YubiKey's commands without its answer to reset: their answers are believed.
@Suite struct IndependentCardTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    private func names(_ inventory: TokenInventory) -> [String] { inventory.objects.map(\.id.rawValue) }

    @Test func anEmptySlotOfPivAppletIsEmptyAndNotMalformed() throws {
        let desk = try Desk(IssuedCard(profile: .pivAppletMetadata, keys: [0x9A: .p256]))
        let inventory = try desk.inventory()
        #expect(names(inventory) == ["9A"])
        #expect(inventory.failures.isEmpty)
    }

    @Test func pivAppletIsLookedThroughOnceAndListedInAFewCommandsAfterwards() throws {
        let (memory, certificates) = (VolatileTokenMemory(), VolatileTokenMemory())
        let card = try IssuedCard(profile: .pivAppletMetadata).make()
        func commands() throws -> Int {
            let desk = Desk(card: card, memory: memory, certificates: certificates)
            _ = try desk.identity()
            #expect(try names(desk.inventory()) == ["9A", "9C", "9D", "9E"])
            return desk.reader.log.count
        }
        #expect(try commands() <= 44)
        // SELECT, CHUID, four times certificate and metadata, Key History.
        #expect(try commands() == 11)
    }

    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey])
    func metadataTellsWhenAKeyWantsThePIN(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile, pinPolicies: [0x9A: .never, 0x9D: .always]))
        let policies = try desk.inventory().objects.map(\.key?.pinPolicy)
        #expect(policies == [.never, .always, .always, .never])
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest))
        #expect(desk.pinsSent == 0)
    }

    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey])
    func aKeyWithoutACertificateIsListedAndSigns(profile: CardProfile) throws {
        let card = try IssuedCard(profile: profile, keys: [0x9A: .p256], withoutCertificate: [0x9A]).make()
        #expect(try names(Desk(card: card).inventory()) == ["9A"])
        let signature = try Desk(card: card).perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(try IssuedCard.publicKey(0x9A, .p256).verify(signature, digest: digest, using: .ecdsa(nil)))
    }

    /// A card with metadata for its PIN and without usable metadata for its keys: its certificates' keys are used.
    @Test func keysOfWhichACardWithMetadataTellsNothingAreThoseOfTheirCertificates() throws {
        let card = SmallCard()
        try card.provision(0x9A, tag: "5FC105", PrivateKey.generate(.ecP256))
        card.answers.append(("00F70080", "0501010602030390" + "00"))
        card.answers.append(("00F7009A", "6985"))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let inventory = try token.inventory(.all, &transaction)
        #expect(inventory.objects.map(\.key?.kind) == [.ecP256])
    }

    @Test func anOrdinaryCardIsAskedForMetadataOncePerListing() throws {
        let desk = try Desk()
        _ = try desk.inventory()
        _ = try desk.inventory()
        #expect(desk.count(0xF7) == 1)
    }

    @Test func anOrdinaryCardThatWasListedIsNotAskedAgain() throws {
        let certificates = VolatileTokenMemory()
        let card = try IssuedCard().make()
        func questions() throws -> Int {
            let desk = Desk(card: card, certificates: certificates)
            _ = try desk.identity()
            _ = try desk.inventory()
            return desk.count(0xF7)
        }
        #expect(try questions() == 1)
        #expect(try questions() == 0)
    }

    // MARK: - Retired keys that other tools made

    @Test(arguments: [CardProfile.pivAppletMetadata, .canoKey, .pivApplet], [nil, 0])
    func retiredKeysThatTheHistoryDoesNotTellOfAreListed(profile: CardProfile, history: Int?) throws {
        let keys: [CardKeyReference: CardAlgorithm] = [0x9A: .p256, 0x82: .p256, 0x83: .rsa2048]
        let desk = try Desk(
            IssuedCard(profile: profile, keys: keys, keyHistory: profile == .canoKey ? nil : history),
            memory: VolatileTokenMemory())
        #expect(try names(desk.inventory()) == ["9A", "82", "83"])
    }

    @Test func retiredKeysWithoutCertificatesAreListedToo() throws {
        let desk = try Desk(
            IssuedCard(
                profile: .pivAppletMetadata, keys: [0x9A: .p256, 0x82: .p256, 0x83: .p256],
                withoutCertificate: [0x82, 0x83]))
        #expect(try names(desk.inventory()) == ["9A", "82", "83"])
    }

    @Test func anOrdinaryCardWithoutAHistoryIsSearchedOnce() throws {
        let memory = VolatileTokenMemory()
        let card = try IssuedCard(keys: [0x9A: .p256, 0x82: .p256], keyHistory: nil).make()
        #expect(try names(Desk(card: card, memory: memory).inventory()) == ["9A", "82"])
        let second = Desk(card: card, memory: memory)
        #expect(try names(second.inventory()) == ["9A", "82"])
        #expect(second.count(0xCB) <= 7)
    }

    // MARK: - Logout

    @Test func pivAppletForgetsThePINWhereItCan() throws {
        let desk = try Desk(IssuedCard(profile: .pivAppletMetadata))
        try desk.verify()
        try desk.logOut()
        #expect(try !desk.anotherProgram().status().isVerified)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
    }

    @Test func aCardThatTakesLogoutForAQuestionIsNotBelieved() throws {
        let card = SmallCard()
        card.answers.append(("0020FF80", "9000"))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        try token.verify(PIN("123456"), lastTry: .keep, &transaction)
        #expect(throws: TokenError(.unsupported, "")) { try token.logOut(&transaction) }
    }

    // MARK: - Keys that the card may have

    @Test func aCardThatTellsNeitherVersionNorAlgorithmsHasTheKeysOfPIV() throws {
        let desk = try Desk()
        let limits = try desk.slot.read { (token, _, _) in token.knownKeyLimits }
        #expect(limits == TokenKeyLimits(rsa: 2048...2048, curves: 256...384, hasCurve25519: false))
    }

    @Test(arguments: [(CardAlgorithm.rsa1024, 1024...2048), (.rsa3072, 2048...3072)])
    func whatIsOnTheCardItHas(algorithm: CardAlgorithm, expected: ClosedRange<Int>) throws {
        var profile = CardProfile.generic
        profile.algorithms.insert(.rsa3072)
        let desk = try Desk(IssuedCard(profile: profile, keys: [0x9A: algorithm]))
        _ = try desk.inventory()
        #expect(try desk.slot.read { (token, _, _) in token.knownKeyLimits }?.rsa == expected)
    }

    @Test func whatTheCardAnnouncesItHasHoweverItIsWritten() throws {
        var profile = CardProfile.pivAppletMetadata
        profile.announcedAlgorithms += [0x16, 0xE0]
        let desk = try Desk(IssuedCard(profile: profile))
        let limits = try desk.slot.read { (token, _, _) in token.knownKeyLimits }
        #expect(limits == TokenKeyLimits(rsa: 2048...4096, curves: 256...384, hasCurve25519: true))
    }
}
