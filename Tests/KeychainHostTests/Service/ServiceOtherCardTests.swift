import HostAPI
import KeychainModel
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

    private func service(_ route: ServiceRoute) -> any KeychainService {
        route.service(of: Host(process, accessGroups: .all, prompter: person))
    }

    @Test(arguments: ServiceRoute.allCases) func itIsAMemberThatItsDriverNames(_ route: ServiceRoute) throws {
        let members = try service(route).keychains(RequestContext()).found
        #expect(members.map(\.kind) == [.card])
        #expect(members.map(\.name) == ["Badge 12"])
        #expect(members.map(\.identifier) == [KeychainIdentifier(rawValue: "badge:12")])
    }

    @Test(arguments: ServiceRoute.allCases) func itsKeySignsWithOnePIN(_ route: ServiceRoute) throws {
        let service = service(route)
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
        let service = service(route)
        let badge = KeychainIdentifier(rawValue: "badge:12")
        try service.unlock(badge, RequestContext())
        #expect(try service.keychains(RequestContext()).found.first?.status.contains(.unlocked) == true)
        #expect(try service.lock(badge, RequestContext()).isEmpty)
        #expect(try service.keychains(RequestContext()).found.first?.status.contains(.unlocked) == false)
        #expect(card.pinsSent == 1)
    }
}
