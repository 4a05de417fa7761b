import HostAPI
import KeychainModel
import Localization
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost

/// A card that is not PIV, with its own driver, through `KeychainService`: no layer between card and front end knows of PIV.
@Suite struct ServiceOtherCardTests {
    private let user: TestUser
    private let card: BadgeCard
    private let process: ProcessKeychains
    private let person = TypesInTurn("4711")

    init() throws {
        let (user, card) = (try TestUser(), try BadgeCard())
        process = ProcessKeychains(
            user.preferences, drivers: { _ in [BadgeDriver()] }, readers: { [BadgeReader(card)] })
        (self.user, self.card) = (user, card)
    }

    private func service(_ route: ServiceRoute) throws -> any KeychainService {
        try route.service(of: Host(process, accessGroups: .all, prompter: person))
    }

    @Test(arguments: ServiceRoute.allCases) func itIsAMemberThatItsDriverNames(_ route: ServiceRoute) throws {
        let members = try service(route).keychains(RequestContext()).found
        #expect(members.map(\.kind) == [.card])
        #expect(members.map(\.name) == ["Badge 12"])
        #expect(members.map(\.identifier) == [KeychainIdentifier(rawValue: "badge:12")])
    }

    @Test(arguments: ServiceRoute.allCases) func itsKeySignsWithOnePIN(_ route: ServiceRoute) throws {
        let service = try service(route)
        let key = try #require(try service.items(.keys.where(.canSign, true)).found.first)
        #expect(key.label == "Door key")
        let digest = [UInt8](repeating: 0x5A, count: 32)
        let request = KeyRequest(.sign(digest), .signature(.ecdsa(nil)), with: key.reference)
        let signature = try service.perform(request, RequestContext()).secret.copiedBytes
        #expect(try card.publicKey.verify(signature, digest: digest, using: .ecdsa(nil)))
        #expect(person.requests.map(\.purpose) == [.pin])
        #expect((card.pinsSent, card.signatures) == (1, 1))
    }

    @Test(arguments: ServiceRoute.allCases) func itIsUnlockedAndLockedAsAnyCard(_ route: ServiceRoute) throws {
        let service = try service(route)
        let badge = KeychainIdentifier(rawValue: "badge:12")
        try service.unlock(badge, RequestContext())
        #expect(try service.keychains(RequestContext()).found.first?.status.contains(.unlocked) == true)
        #expect(try service.lock(badge, RequestContext()).isEmpty)
        #expect(try service.keychains(RequestContext()).found.first?.status.contains(.unlocked) == false)
        #expect(card.pinsSent == 1)
    }

    @Test(arguments: ServiceRoute.allCases) func itsDriverTellsWhatItIsAndItsPIN(_ route: ServiceRoute) throws {
        let service = try service(route)
        let badge = KeychainIdentifier(rawValue: "badge:12")
        let drivers = try service.drivers(RequestContext())
        #expect(drivers.map(\.name) == ["badge"])
        #expect(drivers.first?.keyNames == ["door"])
        #expect(drivers.first?.dataObjects.map(\.name) == ["holder", "code"])
        let overview = try service.card(badge, telling: [.facts, .slots, .pin, .unblockingKey], RequestContext())
        let parts: [String: CardFact.Plain] = ["count": .number(2), "doors": .list(["front", "back"])]
        #expect(overview.facts == [CardFact("Doors", "front, back", parts: parts)])
        #expect(overview.slots.map(\.label) == ["Door key"])
        #expect(overview.slots.first?.key?.publicKey == card.publicKey.spki)
        #expect(overview.slots.first?.certificate == nil)
        #expect(try overview.pin?.get() == CardPIN(triesLeft: 3))
    }

    @Test(arguments: ServiceRoute.allCases) func aDataObjectAsksForThePINWhereItWantsIt(_ route: ServiceRoute) throws {
        let service = try service(route)
        let badge = KeychainIdentifier(rawValue: "badge:12")
        let holder = try service.dataObject("holder", of: badge, RequestContext())
        #expect(holder.bytes.secret.copiedBytes == Array(BadgeCard.holder.utf8))
        #expect(try holder.facts.get() == [CardFact("Holder", "Ada", parts: ["holder": .text("Ada")])])
        #expect(person.requests.isEmpty)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try service.dataObject("code", of: badge, RequestContext(questions: .never))
        }
        let code = try service.dataObject("code", of: badge, RequestContext())
        #expect(code.bytes.secret.copiedBytes == BadgeCard.code)
        #expect(throws: KeychainError(.decode)) { try code.facts.get() }
        #expect(person.requests.map(\.use) == ["read the Door Code"])
        #expect(card.pinsSent == 1)
        // The card counts the PIN, so that it is not asked for again.
        #expect(try service.dataObject("code", of: badge, RequestContext()) == code)
        #expect(card.pinsSent == 1)
    }
}
