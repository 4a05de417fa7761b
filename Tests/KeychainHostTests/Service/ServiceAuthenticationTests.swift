import HostAPI
import SecureBytes
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Authentication contexts that last longer than a request.
@Suite(.serialized) struct ServiceAuthenticationTests {
    private let number = AuthenticationNumber.next()

    private func addGuarded(_ account: String, to stage: ServiceStage) throws -> Item {
        let control = AttributeValue.data(try AccessControl("ak", .userPresence).encoded())
        return try stage.service.add(
            .genericPassword([.account: .string(account), .accessControl: control], secret: .of("s3cret")))
    }

    @Test(arguments: ServiceRoute.allCases) func presenceCountsForLaterRequestsOfAContext(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("p", "p", "p"))
        let items = try ["a", "b"].map { try addGuarded($0, to: stage) }
        let context = RequestContext(authentication: number)
        for item in items { #expect(try stage.service.secret(of: item, context) != nil) }
        #expect(stage.person.requests.count == 1)
        #expect(try stage.service.secret(of: items[0], RequestContext()) != nil)
        #expect(stage.person.requests.count == 2, "no other request knows of it")
        try stage.service.endAuthentication(number, RequestContext())
        #expect(try stage.service.secret(of: items[0], context) != nil)
        #expect(stage.person.requests.count == 3)
    }

    @Test(arguments: ServiceRoute.allCases) func aRefusedPINIsNotSentAgain(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        var context = RequestContext(credentials: [.init(.pin, .of("000000"))], authentication: number)
        for _ in 1...2 {
            #expect(throws: KeychainError(.authFailed)) { try stage.sign(.authentication, context) }
        }
        #expect(stage.pinsSent == 1)
        #expect(stage.person.requests.isEmpty)
        #expect(try stage.service.usableCredentials(context) == [])
        context.credentials = [.init(.pin, .of("123456"))]
        #expect(try stage.service.usableCredentials(context) == [.pin])
        #expect(try stage.isSignature(stage.sign(.authentication, context)))
        #expect(stage.pinsSent == 2)
    }

    @Test(arguments: ServiceRoute.allCases) func aCredentialThatNoLongerComesAlongIsForgotten(
        route: ServiceRoute
    ) throws {
        let stage = try ServiceStage(route)
        let item = try addGuarded("a", to: stage)
        var context = RequestContext(
            questions: .never, credentials: [.init(.password, .of("p"))], authentication: number)
        stage.login.lock()
        #expect(try stage.service.secret(of: item, context) != nil)
        stage.login.lock()
        context.credentials = []
        #expect(throws: KeychainError(.interactionNotAllowed)) { try stage.service.secret(of: item, context) }
    }

    @Test func aClientHasSoManyContextsAndNoMore() throws {
        let table = AuthenticationTable()
        for number in 0..<UInt64(AuthenticationTable.maximumCount) {
            let context = RequestContext(authentication: AuthenticationNumber(rawValue: number))
            _ = try table.context(of: context) { AuthenticationContext() }
        }
        let next = RequestContext(authentication: AuthenticationNumber(rawValue: .max))
        #expect(throws: KeychainError(.allocate)) { try table.context(of: next) { AuthenticationContext() } }
        table.end(AuthenticationNumber(rawValue: 0))
        _ = try table.context(of: next) { AuthenticationContext() }
    }
}
