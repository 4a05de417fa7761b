import HostAPI
import KeychainModel
import PIVDriver
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// The modules of other makers through `KeychainService`.
@Suite struct ServiceModuleTests {
    /// A module that shows cards in readers as its tokens, or fails.
    private final class FixedModule: TokenModule {
        let name: String
        let path: String?
        let driver = "badge"
        let readsCardsAlone = false
        private let readers: [any CardReader]?

        init(_ name: String, path: String? = nil, _ readers: [any CardReader]?) {
            self.name = name
            self.path = path
            self.readers = readers
        }

        func tokens() throws(TokenError) -> [ModuleSlot] {
            guard let readers else { throw TokenError(.conditionsNotSatisfied, "it cannot be loaded") }
            return readers.map {
                ModuleSlot(reader: $0.name, slot: TokenSlot(reader: $0, drivers: [BadgeDriver(), PIVDriver()]))
            }
        }
    }

    private func service(
        _ route: ServiceRoute, _ modules: [FixedModule], of user: TestUser, readers: [VirtualReader] = []
    ) throws -> any KeychainService {
        let process = ProcessKeychains(
            user.preferences, drivers: { _ in [PIVDriver()] }, modules: { modules },
            leftOutModules: { [("trust", "it holds authorities")] }, readers: { readers })
        return try route.service(of: Host(process, accessGroups: .all, prompter: NoPrompter()))
    }

    @Test(arguments: ServiceRoute.allCases) func eachModuleIsListedWithItsTokensOrItsFailure(
        _ route: ServiceRoute
    ) throws {
        let user = try TestUser()
        let modules = [
            FixedModule("badges", path: "/usr/lib/badges.so", [BadgeReader(try BadgeCard())]),
            FixedModule("empty", []), FixedModule("broken", nil),
        ]
        let listed = try service(route, modules, of: user).modules(RequestContext(questions: .never))
        #expect(listed.map(\.name) == ["badges", "empty", "broken", "trust"])
        #expect(listed.map(\.path) == ["/usr/lib/badges.so", nil, nil, nil])
        let badge = ModuleDescription.Token(
            KeychainIdentifier(rawValue: "badge:12"), label: "Badge 12", slot: "Badge Reader")
        #expect(listed[0].state == .used([badge], bypassedReaders: []))
        #expect(listed[1].state == .used([], bypassedReaders: []))
        #expect(listed[2].state == .failed(KeychainError(.deviceError)))
        #expect(listed[3].state == .leftOut(reason: "it holds authorities"))
    }

    @Test(arguments: ServiceRoute.allCases) func aCardThatADriverReadsIsToldAsBypassed(_ route: ServiceRoute) throws {
        let user = try TestUser()
        let reader = VirtualReader(name: "Desk Reader", card: try TestCard().make())
        let module = FixedModule("cards", [reader, BadgeReader(try BadgeCard())])
        let service = try service(route, [module], of: user, readers: [reader])
        let listed = try service.modules(RequestContext(questions: .never))
        guard case .used(let tokens, let bypassed)? = listed.first?.state else {
            Issue.record("not used")
            return
        }
        #expect(tokens.map(\.slot) == ["Badge Reader"])
        #expect(bypassed == ["Desk Reader"])
    }
}
