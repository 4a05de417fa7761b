import Foundation
import HostAPI
import PIVDriver
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Events and cancellation through `KeychainService`.
@Suite struct ServiceEventTests {
    /// The events of one keychain. A page has the process's other events as well, such as blocked PINs.
    private func events(_ page: EventPage, of keychain: LocalKeychain) -> [KeychainEvent.Kind] {
        page.events.filter { $0.location == keychain.path }.map(\.kind)
    }

    @Test(arguments: ServiceRoute.allCases) func changesAreToldOnceAndInOrder(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let first = try stage.service.events(after: nil, waiting: .zero, RequestContext())
        let item = try stage.addPassword("anna")
        try stage.service.delete(.genericPasswords.where(.account, "anna"))
        var kinds: [KeychainEvent.Kind] = []
        var position = first.next
        try eventually {
            let page = try stage.service.events(after: position, waiting: .seconds(5), RequestContext())
            position = page.next
            if let added = page.events.first(where: { $0.kind == .add }) { #expect(added.item == item.reference) }
            kinds += events(page, of: stage.login)
            return kinds.count >= 2
        }
        #expect(kinds == [.add, .delete])
        let last = try stage.service.events(after: position, waiting: .zero, RequestContext())
        #expect(events(last, of: stage.login).isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases) func aPageThatWasNotFetchedIsKept(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let first = try stage.service.events(after: nil, waiting: .zero, RequestContext())
        try stage.addPassword("anna")
        for _ in 1...2 {
            try eventually {
                let page = try stage.service.events(after: first.next, waiting: .seconds(5), RequestContext())
                return events(page, of: stage.login) == [.add]
            }
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aSubscriptionThatIsNotThereIsAnError(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(throws: KeychainError(.param)) {
            try stage.service.events(
                after: EventPosition(subscription: 99, number: 0), waiting: .zero, RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aWaitEndsWithItsSubscription(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let first = try stage.service.events(after: nil, waiting: .zero, RequestContext())
        let finished = DispatchGroup()
        let outcome = Mutex<ErrSec?>(nil)
        Thread.detached(in: finished) {
            do throws(KeychainError) {
                var position = first.next
                while true {
                    position = try stage.service.events(after: position, waiting: .seconds(600), RequestContext()).next
                }
            } catch {
                outcome.withLock { $0 = error.code }
            }
        }
        try stage.service.endEvents(at: first.next, RequestContext())
        finished.wait()
        #expect(outcome.withLock { $0 } == .param)
        try stage.service.endEvents(at: first.next, RequestContext())
        for _ in 0..<2 * EventSubscriptions.maximumCount {
            let page = try stage.service.events(after: nil, waiting: .zero, RequestContext())
            try stage.service.endEvents(at: page.next, RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func readersAreToldOfToWhoAsksForThem(route: ServiceRoute) throws {
        let (user, atr) = (try TestUser(), ATR([0x3B, 0x80, 0x01, 0x81]))
        let (desk, lost) = (VirtualReader(name: "Desk", card: try TestCard().make()), VirtualReader(name: "Lost"))
        let badge = BadgeReader(try BadgeCard())
        let process = ProcessKeychains(
            user.preferences, drivers: { _ in [BadgeDriver(), PIVDriver()] },
            readers: { [desk, badge, lost] })
        let happened: [ReaderEvent] = [
            .serviceUnavailable(CardError(.serviceUnavailable, "it is not running")), .serviceAvailable,
            .readerAdded("Desk"), .cardInserted(reader: "Desk", atr: atr),
            .cardInserted(reader: badge.name, atr: atr), .cardInserted(reader: "Lost", atr: atr),
            .cardMute(reader: "Mute"), .cardRemoved(reader: "Desk"), .readerRemoved("Desk"),
        ]
        let host = Host(
            of: process, for: SearchClient(accessGroups: .all, trustAnchors: .system), prompter: NoPrompter(),
            watchingReaders: { _, report in happened.forEach(report) })
        let service = try route.service(of: host)
        var (told, position): ([KeychainEvent], EventPosition?) = ([], nil)
        try eventually {
            let page = try service.events(of: .readers, after: position, waiting: .seconds(5), RequestContext())
            position = page.next
            told += page.events
            return told.count >= happened.count
        }
        #expect(
            told.map(\.kind) == [
                .serviceUnavailable, .serviceAvailable, .readerAdded, .tokenInserted, .tokenInserted, .tokenInserted,
                .cardMute, .tokenRemoved, .readerRemoved,
            ])
        let places = [nil, nil, "Desk", "Desk", "Badge Reader", "Lost", "Mute", "Desk", "Desk"]
        #expect(told.map(\.location) == places)
        #expect(told.map(\.label) == [nil, nil, nil, "PIV card 7b13d0e6", "Badge 12", nil, nil, nil, nil])
        #expect(told[4].keychain == KeychainIdentifier(rawValue: "badge:12"))
        #expect(
            told.map(\.reason) == ["it is not running"] + Array(repeating: nil, count: 4) + ["no driver knows it"] + [
                nil, nil, nil,
            ])
        // Who watches keychains is told of none of it.
        let keychains = try service.events(after: nil, waiting: .zero, RequestContext()).events.map(\.kind)
        #expect(!keychains.contains(.readerAdded))
        #expect(!keychains.contains(.serviceUnavailable))
    }

    @Test func aClientThatFallsBehindIsTold() throws {
        let user = try TestUser()
        let subscription = EventSubscription(KeychainWatch(user.preferences))
        let ticket = RequestTicket(RequestContext())
        for _ in 0..<EventSubscription.maximumCount { subscription.put(KeychainEvent(.lock)) }
        #expect(try !subscription.page(after: 0, waiting: .zero, ticket).isIncomplete)
        subscription.put(KeychainEvent(.unlock))
        let late = try subscription.page(after: 0, waiting: .zero, ticket)
        #expect(late.isIncomplete)
        #expect(late.events.count == EventSubscription.maximumCount && late.events.last?.kind == .unlock)
        let next = try subscription.page(after: late.next, waiting: .zero, ticket)
        #expect(next.events.isEmpty && !next.isIncomplete)
    }

    @Test func subscriptionsAreBounded() throws {
        let stage = try ServiceStage(.call)
        for _ in 0..<EventSubscriptions.maximumCount {
            _ = try stage.service.events(after: nil, waiting: .zero, RequestContext())
        }
        #expect(throws: KeychainError(.allocate)) {
            try stage.service.events(after: nil, waiting: .zero, RequestContext())
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aWaitEndsWhenItIsCancelled(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let number = RequestNumber(rawValue: 7)
        let finished = DispatchGroup()
        let outcome = Mutex<ErrSec?>(nil)
        Thread.detached(in: finished) {
            do throws(KeychainError) {
                var position: EventPosition?
                while true {
                    position = try stage.service.events(
                        after: position, waiting: .seconds(600), RequestContext(number: number)
                    ).next
                }
            } catch {
                outcome.withLock { $0 = error.code }
            }
        }
        eventually {
            stage.service.cancel(number)
            return outcome.withLock { $0 } != nil
        }
        finished.wait()
        #expect(outcome.withLock { $0 } == .userCanceled)
    }

    @Test(arguments: ServiceRoute.allCases) func aRequestWhoseTimeIsOverAsksNobody(route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("123456"))
        #expect(throws: KeychainError(.userCanceled)) {
            try stage.sign(.authentication, RequestContext(timeLimit: .zero))
        }
        #expect(stage.person.requests.isEmpty)
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases, [RequestContext.Questions.byHost, .byClient])
    func anAnswerAfterTheTimeOfARequestIsNotUsed(route: ServiceRoute, questions: RequestContext.Questions) throws {
        let late = TypesInTurn("123456") { usleep(1_500_000) }
        let stage = try ServiceStage(route, person: late, clientPerson: late)
        let identity = try stage.identity()
        for _ in 0..<2 {
            do throws(KeychainError) {
                _ = try stage.service.perform(
                    KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: identity.key.reference),
                    RequestContext(questions: questions, timeLimit: .seconds(1)))
                Issue.record("it was signed")
            } catch {
                #expect(error.code == .userCanceled)
                #expect(error.reason.contains("the time of the request is over"))
            }
        }
        #expect(stage.pinsSent == 0)
    }

    @Test(arguments: ServiceRoute.allCases) func aWaitForPlacesEndsWithTheTimeOfItsRequest(route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let places = try stage.service.places(RequestContext()).found
        #expect(throws: KeychainError(.userCanceled)) {
            try stage.service.awaitPlaces(otherThan: places, RequestContext(timeLimit: .milliseconds(300)))
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aRequestThatIsCancelledWhileAPersonTypesSendsNothing(
        route: ServiceRoute
    ) throws {
        let service = Mutex<(any KeychainService)?>(nil)
        let number = RequestNumber(rawValue: 1)
        let person = TypesInTurn("123456") { service.withLock { $0 }?.cancel(number) }
        let stage = try ServiceStage(route, person: person)
        service.withLock { $0 = stage.service }
        #expect(throws: KeychainError(.userCanceled)) {
            try stage.sign(.authentication, RequestContext(number: number))
        }
        #expect(stage.pinsSent == 0)
        service.withLock { $0 = nil }
    }
}
