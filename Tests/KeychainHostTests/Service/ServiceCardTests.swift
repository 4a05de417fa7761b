import Foundation
import HostAPI
import KeychainModel
import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// Cards, their drivers and their settings through `KeychainService`.
@Suite struct ServiceCardTests {
    private let context = RequestContext()
    private let silent = RequestContext(questions: .never)

    @Test(arguments: ServiceRoute.allCases) func theDriversAreListedWithoutALookAtACard(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let drivers = try stage.service.drivers(silent)
        #expect(drivers.map(\.name) == ["piv"])
        #expect(drivers.map(\.isDisabled) == [false])
        #expect(drivers.first?.keyNames.contains("9A") == true)
        let holder = try #require(drivers.first?.dataObjects.first { $0.name == "chuid" })
        #expect(
            holder == CardDataObject("chuid", label: "Card Holder Unique Identifier", tag: "5FC102", needsPIN: false))
        #expect(drivers.first?.dataObjects.first { $0.name == "printed-information" }?.needsPIN == true)
        try stage.service.configureCards(.driver("piv", isDisabled: true), in: .user, silent)
        #expect(try stage.service.drivers(silent).map(\.isDisabled) == [true])
        #expect(stage.reader.log.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aSettingThatIsUnsetIsNoValue(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        func settings(in domain: PreferencesDomain?) throws -> CardSettings {
            try stage.service.cardSettings([.pins, .drivers], in: domain, silent)
        }
        func change(_ change: CardSettings.Change, _ domain: PreferencesDomain = .user) throws {
            try stage.service.configureCards(change, in: domain, silent)
        }
        #expect(try settings(in: .user) == CardSettings())
        #expect(try settings(in: nil) == CardSettings(provesBeforePIN: false))
        try change(.pinTimeout(300))
        try change(.pinTimeout(60), .system)
        try change(.provesBeforePIN(false))
        try change(.provesBeforePIN(true), .system)
        try change(.driver("piv", isDisabled: true))
        try change(.driver("badge", isDisabled: true))
        let own = CardSettings(pinTimeout: 300, provesBeforePIN: false, disabledDrivers: ["badge", "piv"])
        #expect(try settings(in: .user) == own)
        #expect(try settings(in: .system) == CardSettings(pinTimeout: 60, provesBeforePIN: true))
        let effective = CardSettings(pinTimeout: 60, provesBeforePIN: true, disabledDrivers: ["badge", "piv"])
        #expect(try settings(in: nil) == effective)
        try change(.pinTimeout(nil))
        try change(.provesBeforePIN(nil))
        try change(.driver("badge", isDisabled: false))
        #expect(try settings(in: .user) == CardSettings(disabledDrivers: ["piv"]))
        #expect(throws: KeychainError(.param)) { try change(.pinTimeout(0)) }
    }

    @Test(arguments: ServiceRoute.allCases) func aDomainHasOnlyItsOwnSettings(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let refusal = KeychainError(.invalidPreferencesDomain)
        for parts in [CardSettings.Parts.pins, .drivers] {
            #expect(throws: refusal) { try stage.service.cardSettings(parts, in: .dynamic, silent) }
        }
        for change in [CardSettings.Change.pinTimeout(1), .provesBeforePIN(true), .driver("piv", isDisabled: true)] {
            #expect(throws: refusal) { try stage.service.configureCards(change, in: .dynamic, silent) }
        }
        try stage.service.configureCards(.driver("piv", isDisabled: true), in: .system, silent)
        #expect(try stage.service.cardSettings(.drivers, in: .user, silent).disabledDrivers == [])
        #expect(try stage.service.cardSettings(.drivers, in: .system, silent).disabledDrivers == ["piv"])
        #expect(try stage.service.cardSettings(.drivers, in: nil, silent).disabledDrivers == ["piv"])
        #expect(throws: KeychainError(.writePermission)) {
            try stage.service.configureCards(.driver("piv", isDisabled: false), in: .user, silent)
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aFileThatCannotBeReadHidesNoOthersSettings(_ route: ServiceRoute)
        throws
    {
        let stage = try ServiceStage(route)
        try stage.user.write("nonsense = 1\n")
        #expect(throws: KeychainError(.decode)) { try stage.service.cardSettings(.pins, in: nil, silent) }
        #expect(try stage.service.cardSettings(.drivers, in: nil, silent) == CardSettings())
    }

    @Test(arguments: ServiceRoute.allCases) func anOverviewTellsWhatIsOnTheCardAndHowItsPINStands(
        _ route: ServiceRoute
    ) throws {
        let stage = try ServiceStage(
            route, otherCards: [TestCard(profile: .yubiKey57, guid: .init(repeating: "1", count: 32))])
        let members = try stage.service.keychains(.cards, silent).found
        let parts: CardOverview.Parts = [.facts, .slots, .pin, .unblockingKey]
        let piv = try stage.service.card(members[0].identifier, telling: parts, silent)
        #expect(piv.card == members[0])
        #expect(piv.card.location == "Desk Reader")
        #expect(piv.slots.map(\.name) == ["9A", "9C", "9D", "9E"])
        #expect(piv.slots.first?.label == "PIV Authentication")
        #expect(try piv.slots.first?.key?.publicKey == TestCard().key(.authentication).publicKey.spki)
        #expect(try piv.slots.first?.certificate == TestCard().key(.authentication).certificate.der)
        #expect(piv.slots.map { $0.key?.pinPolicy } == [.once, .always, .once, .never])
        #expect(piv.slots.map { $0.key?.touchPolicy } == [.unknown, .unknown, .unknown, .unknown])
        #expect(piv.failures.isEmpty)
        #expect(!piv.facts.isEmpty)
        #expect(try piv.pin?.get() == CardPIN(triesLeft: 3))
        #expect(try piv.unblockingKey?.get() == CardPIN(triesLeft: nil))

        let yubiKey = try stage.service.card(members[1].identifier, telling: parts, silent)
        #expect(yubiKey.card.location == "Reader 0")
        #expect(yubiKey.card.token?.serialNumber == "7654321")
        #expect(yubiKey.card.token?.version == "5.7.1")
        #expect(Set(yubiKey.slots.map { $0.key?.touchPolicy }) == [.never])
        let serial = try #require(yubiKey.facts.first { $0.parts["serialNumber"] != nil })
        #expect(serial.value.contains("7654321"))
        #expect(try yubiKey.pin?.get() == CardPIN(triesLeft: 3, maximumTries: 3, isDefault: true))
        #expect(try yubiKey.unblockingKey?.get() == CardPIN(triesLeft: 3, maximumTries: 3, isDefault: true))
        #expect(try yubiKey.pin?.get().isBlocked == false)
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases) func whatIsNotWantedCostsNoCommand(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let token = try stage.token
        stage.reader.clearLog()
        let names = try stage.service.card(token, telling: [], silent)
        #expect(names == CardOverview(names.card))
        #expect(stage.reader.log.isEmpty)
        let pin = try stage.service.card(token, telling: .pin, silent)
        #expect(pin.pin != nil)
        #expect((pin.facts, pin.slots, pin.unblockingKey) == ([], [], nil))
    }

    @Test(arguments: [CardProfile.generic, .contactless, .yubiKey42, .yubiKey57])
    func anOverviewCostsNoMoreCommandsThanItsPartsAlone(_ profile: CardProfile) throws {
        let card = TestCard(profile: profile)
        let (stage, user) = (try ServiceStage(.call, card), try TestUser())
        let reader = VirtualReader(name: "Desk Reader", card: try card.make())
        let process = ProcessKeychains(
            user.preferences,
            drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)] },
            readers: { [reader] })
        let overview = try stage.service.card(
            stage.token, telling: [.facts, .slots, .pin, .unblockingKey], silent)
        let token = try process.present(locals: false).tokens[0]
        _ = try (token.identity(), token.facts(), token.inventory())
        let pin = try token.status(of: .pin)
        _ = try? token.status(of: .unblockingKey)
        #expect(try overview.pin?.get().triesLeft == pin.triesLeft)
        #expect(stage.reader.log.count <= reader.log.count)
    }

    @Test(arguments: ServiceRoute.allCases) func aBlockedPINIsToldAsBlocked(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route, TestCard(pinTries: 0))
        let overview = try stage.service.card(stage.token, telling: .pin, silent)
        #expect(try overview.pin?.get().isBlocked == true)
    }

    @Test(arguments: ServiceRoute.allCases) func aFileIsNoCardAndAnAbsentCardIsNamed(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let (file, absent) = (stage.login.identifier, KeychainIdentifier(rawValue: "piv:none"))
        #expect(throws: KeychainError(.param)) { try stage.service.card(file, telling: [], silent) }
        #expect(throws: KeychainError(.param)) { try stage.service.dataObject("chuid", of: file, silent) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.card(absent, telling: [], silent) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try stage.service.dataObject("chuid", of: absent, silent) }
    }

    @Test(arguments: ServiceRoute.allCases) func aDataObjectComesWithTheFactsInIt(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let content = try stage.service.dataObject("chuid", of: stage.token, silent)
        #expect(content.object.label == "Card Holder Unique Identifier")
        #expect(Hex.encode(content.bytes.secret.copiedBytes).contains(TestCard().guid))
        #expect(try content.facts.get().first?.name == "GUID")
        #expect(throws: KeychainError(.itemNotFound)) {
            try stage.service.dataObject("nothing", of: stage.token, silent)
        }
        let absent = #expect(throws: KeychainError(.itemNotFound)) {
            try stage.service.dataObject("key-history", of: stage.token, silent)
        }
        #expect(absent?.reason == "the card has no Key History Object")
        #expect(stage.pinsSent == 0)
    }
}
