import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// A transport and an algorithm for which the budgets hold.
struct Travel: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let profile: CardProfile
    let algorithm: CardAlgorithm

    static let all: [Travel] = [CardProfile.genericShort, .genericExtended, .genericT0].flatMap { profile in
        [CardAlgorithm.p256, .rsa2048].map { Travel(profile, $0) }
    }

    init(_ profile: CardProfile, _ algorithm: CardAlgorithm) {
        testDescription = "\(profile.name), \(algorithm)"
        self.profile = profile
        self.algorithm = algorithm
    }

    var card: IssuedCard {
        var card = IssuedCard(profile: profile)
        for key in card.keys.keys { card.keys[key] = algorithm }
        return card
    }

    var signature: TokenOperation.Action {
        let digest = [UInt8](repeating: 0x5A, count: 32)
        return .sign(algorithm == .p256 ? .ecdsa(nil) : .rsaPKCS1(.sha256), digest)
    }
}

/// The commands that each job may cost. Blocks of a chain and GET RESPONSE are counted apart.
@Suite struct BudgetTests {
    private let select: UInt8 = 0xA4, getData: UInt8 = 0xCB, verify: UInt8 = 0x20, authenticate: UInt8 = 0x87

    @Test(arguments: Travel.all)
    func fromInsertionToIdentity(travel: Travel) throws {
        let desk = try Desk(travel.card)
        #expect(try desk.identity().id.instance == "7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c")
        #expect(desk.commands == [select, getData])
        // Even a signed CHUID takes no continuation, except over T=0, where every answer does.
        #expect(desk.reader.log.count == (travel.profile.transport.transmissionProtocol == .t0 ? 4 : 2))
    }

    @Test(arguments: Travel.all)
    func aNamedCertificateIsOneCommand(travel: Travel) throws {
        let desk = try Desk(travel.card)
        let inventory = try desk.inventory(.object(TokenObjectID("9A")))
        #expect(inventory.objects.map(\.id.rawValue) == ["9A"])
        #expect(desk.commands == [select, getData])
        #expect(desk.reader.log.allSatisfy { $0.object == nil || $0.object == 0x5FC105 })
    }

    @Test(arguments: Travel.all)
    func listingIsOneCommandACertificateTheKeyHistoryAndWhetherThereIsMetadata(travel: Travel) throws {
        let desk = try Desk(travel.card)
        #expect(try desk.inventory().objects.count == 4)
        #expect(desk.commands == [select, getData, 0xF7] + Array(repeating: getData, count: 4))
        _ = try desk.inventory()
        #expect(desk.commands.count == 7)
    }

    @Test(arguments: Travel.all)
    func theFirstSignature(travel: Travel) throws {
        let desk = try Desk(travel.card)
        let inventory = try desk.inventory(.object(TokenObjectID("9A")))
        #expect(inventory.objects.count == 1)
        _ = try desk.perform("9A", travel.signature, pin: "123456")
        // SELECT, certificate, Discovery Object, status, VERIFY, GENERAL AUTHENTICATE.
        #expect(desk.commands == [select, getData, getData, verify, verify, authenticate])
        #expect(desk.statusQueries == 1)
        #expect(desk.pinsSent == 1)
    }

    @Test func theFirstSignatureOnACardWithoutDiscoveryObject() throws {
        let desk = try Desk(IssuedCard(objects: [0x7E: nil]))
        _ = try desk.inventory(.object(TokenObjectID("9A")))
        _ = try desk.perform("9A", Travel(.generic, .p256).signature, pin: "123456")
        // The object is absent in other applications as well, so that PIV is selected again before the PIN is asked about or sent.
        #expect(
            desk.commands == [select, getData, getData, select, getData, verify, verify, authenticate])
    }

    @Test(arguments: [CardProfile.yubiKey57, .yubiKey54, .yubiKey531, .yubiKey43, .yubiKeyNEO])
    func theFirstSignatureOnAYubiKey(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        _ = try desk.inventory(.object(TokenObjectID("9A")))
        _ = try desk.perform("9A", Travel(.generic, .p256).signature, pin: "123456")
        #expect(desk.commands.count <= 6, "\(desk.reader.log)")
    }

    @Test(arguments: Travel.all)
    func theSecondSignatureWith9ANeedsNoPIN(travel: Travel) throws {
        let desk = try Desk(travel.card)
        _ = try desk.perform("9A", travel.signature, pin: "123456")
        desk.forgetCommands()
        _ = try desk.perform("9A", travel.signature)
        #expect(desk.commands == [authenticate])
    }

    @Test(arguments: Travel.all)
    func theSecondSignatureWith9CIsTheSelectionThePINAndTheSignature(travel: Travel) throws {
        let desk = try Desk(travel.card)
        _ = try desk.perform("9C", travel.signature, pin: "123456")
        desk.forgetCommands()
        _ = try desk.perform("9C", travel.signature, pin: "123456")
        #expect(desk.commands == [select, verify, authenticate])
        #expect(desk.statusQueries == 0)
    }

    @Test(arguments: [CardProfile.generic, .yubiKey54, .yubiKey57])
    func toldOfTheTriesBeforeTheSecondQuestionWithoutACommand(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        _ = try desk.perform("9C", Travel(.generic, .p256).signature, pin: "123456")
        desk.forgetCommands()
        _ = try desk.status()
        _ = try desk.perform("9C", Travel(.generic, .p256).signature, pin: "123456")
        #expect(desk.commands == [select, verify, authenticate], "\(desk.reader.log)")
    }

    /// 256 bytes and ten of template: two short blocks and a GET RESPONSE, or one extended command.
    @Test func continuationsAreThoseOfTheFloor() throws {
        for (profile, count) in [(CardProfile.genericShort, 3), (.genericExtended, 1)] {
            let travel = Travel(profile, .rsa2048)
            let desk = try Desk(travel.card)
            _ = try desk.perform("9A", travel.signature, pin: "123456")
            desk.forgetCommands()
            _ = try desk.perform("9A", travel.signature)
            #expect(desk.reader.log.count == count, "\(profile.name): \(desk.reader.log)")
        }
    }

    @Test(arguments: CardProfile.all.map(\.name))
    func noOtherApplicationIsEverSelected(name: String) throws {
        let profile = try #require(CardProfile.named(name))
        let desk = try Desk(IssuedCard(profile: profile))
        _ = try desk.identity()
        _ = try desk.inventory()
        _ = try desk.facts()
        _ = try? desk.perform("9A", Travel(.generic, .p256).signature, pin: "123456")
        let selections = desk.trace.lines.filter { $0.hasPrefix("> 00A4") }
        #expect(Set(selections).count == 1)
        #expect(selections.first?.contains("A00000030800001000") == true)
    }
}
