import Glibc
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost

/// A card's PIN that one client of a host has given counts for the host's other clients.
@Suite struct ServiceOnePINTests {
    private let cards = SharedCards()
    private static let hosts = RequestContext(questions: .byHost)

    @Test(arguments: ServiceRoute.allCases)
    func whatOneClientTypedASecondSignsWith(_ route: ServiceRoute) throws {
        let first = try ServiceStage(route, person: TypesInTurn("123456"), cards: cards)
        #expect(try first.isSignature(first.sign(.authentication, Self.hosts)))
        let second = try ServiceStage(route, of: first, cards: cards)
        #expect(try second.isSignature(second.sign(.authentication, RequestContext(questions: .never))))
        #expect(first.person.requests.count == 1)
        #expect(second.person.requests.isEmpty)
        #expect(first.pinsSent == 1)
    }

    @Test(arguments: ServiceRoute.allCases)
    func aCardThatWasResetIsGivenThePINAgainAndNobodyIsAsked(_ route: ServiceRoute) throws {
        let first = try ServiceStage(route, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let second = try ServiceStage(route, of: first, cards: cards)
        first.reader.resetByAnotherClient()
        #expect(try second.isSignature(second.sign(.authentication, Self.hosts)))
        #expect(first.pinsSent == 2)
        #expect(second.person.requests.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aKeyThatAsksEachTimeAsksEachClient(_ route: ServiceRoute) throws {
        let first = try ServiceStage(route, person: TypesInTurn("123456", "123456"), cards: cards)
        let second = try ServiceStage(route, of: first, person: TypesInTurn("123456"), cards: cards)
        for _ in 1...2 { _ = try first.sign(.signature, Self.hosts) }
        _ = try second.sign(.signature, Self.hosts)
        #expect(first.person.requests.count == 2)
        #expect(second.person.requests.count == 1)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try second.sign(.signature, RequestContext(questions: .never))
        }
    }

    /// Another tool has changed the PIN: the kept one costs one try, and a person is asked.
    @Test func aPINThatWasChangedElsewhereIsAskedForAfterOneTry() throws {
        let first = try ServiceStage(.call, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let own = try ServiceStage(.call, of: first, cards: nil)
        try own.host.changePIN(
            of: "Desk Reader", from: SharedSecret(.of("123456")), to: SharedSecret(.of("654321")), RequestContext())
        first.reader.resetByAnotherClient()
        first.reader.clearLog()
        let second = try ServiceStage(.call, of: first, person: TypesInTurn("654321"), cards: cards)
        #expect(try second.isSignature(second.sign(.authentication, Self.hosts)))
        #expect(second.person.requests.count == 1)
        #expect(first.pinsSent == 2)
        #expect(try first.isSignature(first.sign(.authentication, Self.hosts)))
        #expect(first.pinsSent == 2)
    }

    @Test(arguments: ServiceRoute.allCases) func aLockOfTheCardEndsThePINOfAllClients(_ route: ServiceRoute) throws {
        let first = try ServiceStage(route, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let second = try ServiceStage(route, of: first, person: TypesInTurn("123456"), cards: cards)
        #expect(try second.service.lock(second.token, RequestContext()).isEmpty)
        #expect(!cards.havePIN)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try first.sign(.authentication, RequestContext(questions: .never))
        }
        #expect(try second.isSignature(second.sign(.authentication, Self.hosts)))
    }

    /// A given PIN is an answer to be checked, also where another client's counts.
    @Test func aGivenPINIsCheckedWhereTheCardIsUnlockedToo() throws {
        let first = try ServiceStage(.call, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let second = try ServiceStage(.call, of: first, cards: cards)
        func unlock(_ pin: String) throws {
            try second.service.unlock(
                second.token, for: nil, RequestContext(questions: .never, credentials: [.init(.pin, .of(pin))]))
        }
        first.reader.clearLog()
        try unlock("123456")
        #expect(first.pinsSent == 0)
        #expect(throws: KeychainError(.authFailed)) { try unlock("654321") }
        #expect(first.pinsSent == 1)
        #expect(try first.isSignature(first.sign(.authentication, RequestContext(questions: .never))))
    }

    // MARK: Permission

    @Test(arguments: ServiceRoute.allCases) func anotherProgramAsksForAPermission(_ route: ServiceRoute) throws {
        let cards = SharedCards(askingForPermission: true)
        let first = try ServiceStage(route, person: TypesInTurn("123456"), cards: cards)
        for _ in 1...2 { _ = try first.sign(.authentication, Self.hosts) }
        let person = Decides(.allowOnce, .deny)
        let permission = Permission(AccessDecisions(), of: AskingProgram(ProcessHandle(getpid())), asking: person)
        let second = try ServiceStage(route, of: first, cards: cards, permission: permission)
        let context = RequestContext(purpose: "sign a letter", questions: .byHost)
        #expect(try second.isSignature(second.sign(.authentication, context)))
        let question = try #require(person.questions.first)
        #expect(question.purpose == "sign a letter")
        #expect(throws: KeychainError(.userCanceled)) { try second.sign(.authentication, context) }
        let third = try ServiceStage(route, of: first, cards: cards)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try third.sign(.authentication, context) }
        #expect(first.pinsSent == 1)
    }

    /// Also where no PIN counts, and for a key whose PIN counts once: nobody types it for nothing, nor lets the program use it by that.
    @Test(arguments: ServiceRoute.allCases)
    func whatIsDeniedForEverIsRefusedBeforeTheQuestionForThePIN(_ route: ServiceRoute) throws {
        let permission = Permission(AccessDecisions(), of: AskingProgram(ProcessHandle(getpid())), asking: Decides())
        let stage = try ServiceStage(
            route, person: TypesInTurn("123456", "123456"), cards: SharedCards(askingForPermission: true),
            permission: permission)
        for (count, slot) in [CardKeyReference.authentication, .signature].enumerated() {
            let key = try stage.identity(slot).key.reference
            _ = try stage.service.changeAccess(.deny([Executable.path(of: getpid())], [key]), RequestContext())
            #expect(throws: KeychainError(.userCanceled)) { try stage.sign(slot, Self.hosts) }
            #expect(stage.person.requests.count == count && stage.pinsSent == count)
            _ = try stage.service.changeAccess(.reset(program: nil, nil), RequestContext())
            #expect(try stage.isSignature(stage.sign(slot, Self.hosts), of: slot))
        }
    }

    /// As `--pin-source` gives it, or a script. The PIN is checked, and makes the program its own giver.
    @Test func aProgramThatHasThePINItselfPresentsIt() throws {
        let cards = SharedCards(askingForPermission: true)
        let first = try ServiceStage(.call, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let permission = Permission(AccessDecisions(), of: AskingProgram(ProcessHandle(getpid())), asking: Decides())
        func client() throws -> ServiceStage {
            try ServiceStage(.call, of: first, cards: cards, permission: permission)
        }
        func context(_ pin: String) -> RequestContext {
            RequestContext(questions: .never, credentials: [.init(.pin, .of(pin))])
        }
        let second = try client()
        for _ in 1...2 { #expect(try second.isSignature(second.sign(.authentication, context("123456")))) }
        #expect(throws: KeychainError(.authFailed)) { try client().sign(.authentication, context("654321")) }
    }

    /// `--no-prompt`.
    @Test(arguments: ServiceRoute.allCases) func aRequestThatAsksNobodyAsksForNoPermission(_ route: ServiceRoute) throws
    {
        let cards = SharedCards(askingForPermission: true)
        let first = try ServiceStage(route, person: TypesInTurn("123456"), cards: cards)
        _ = try first.sign(.authentication, Self.hosts)
        let person = Decides(.allowOnce)
        let permission = Permission(AccessDecisions(), of: AskingProgram(ProcessHandle(getpid())), asking: person)
        let second = try ServiceStage(route, of: first, cards: cards, permission: permission)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try second.sign(.authentication, RequestContext(questions: .never))
        }
        #expect(person.questions.isEmpty)
    }
}
