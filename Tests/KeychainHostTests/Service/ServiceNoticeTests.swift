import HostAPI
import KeychainModel
import PIVDriver
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// The notices of a request that reach the person at the client.
@Suite struct ServiceNoticeTests {
    /// A signature that a thread of its own makes.
    private final class Signature: Sendable {
        private let made = Mutex<Result<[UInt8], any Error>?>(nil)

        func begin(_ stage: ServiceStage, _ slot: CardKeyReference, _ context: RequestContext) {
            BlockingThread.start { [self] in
                let result = Result { try stage.sign(slot, context) }
                made.withLock { $0 = result }
            }
        }

        var isMade: Bool { made.withLock { $0 != nil } }
        func get() throws -> [UInt8]? { try made.withLock(\.self)?.get() }
    }

    @Test(arguments: ServiceRoute.allCases) func thePersonAtTheClientIsToldToTouchTheCard(route: ServiceRoute) throws {
        let card = TestCard(profile: .yubiKey57, touchPolicy: .always)
        let stage = try ServiceStage(route, card, clientPerson: TypesInTurn("123456"))
        let signature = Signature()
        signature.begin(stage, .authentication, RequestContext(questions: .byClient))
        #expect(eventually { stage.clientPerson.messages.contains { $0.contains("Touch the card now") } })
        stage.card.touch()
        #expect(eventually { signature.isMade })
        #expect(try stage.isSignature(try #require(try signature.get())))
        #expect(stage.clientPerson.requests.count == 1)
        #expect(stage.person.messages.isEmpty)
    }

    @Test func anAdministratorIsToldToTouchTheCardForItsKey() throws {
        let stage = try ServiceStage(
            .call, TestCard(profile: .yubiKey57), clientPerson: TypesInTurn("123456", "123456"))
        let context = RequestContext(questions: .byClient)
        let card = try #require(try stage.service.keychains(.cards, context).found.first).identifier
        let key = CardManagementKey(nil, nil, touch: .always, isKeptOnCard: true)
        _ = try stage.service.administer(card, .setManagementKey(key), by: .found, context)
        let isDone = Mutex(false)
        BlockingThread.start {
            _ = try? stage.service.administer(card, .setData("security-object", [1]), by: .found, context)
            isDone.withLock { $0 = true }
        }
        #expect(eventually { stage.clientPerson.messages.contains { $0.contains("Touch the card now") } })
        stage.card.touch()
        #expect(eventually { isDone.withLock(\.self) })
    }

    @Test(arguments: [ServiceRoute.call, .socket], RequestContext.Questions.allCases)
    func aClientIsToldOfAWaitForACardAndOfItsEnd(route: ServiceRoute, questions: RequestContext.Questions) throws {
        let stage = try ServiceStage(route)
        let other = TokenSlot(reader: stage.reader, drivers: [PIVDriver()])
        let (isTaken, isFree) = (CountingSemaphore(), CountingSemaphore())
        BlockingThread.start {
            try? other.read { (_, _, _) throws(TokenError) in
                isTaken.signal()
                isFree.wait()
            }
        }
        isTaken.wait()
        let signature = Signature()
        signature.begin(stage, .cardAuthentication, RequestContext(questions: questions))
        #expect(eventually { !stage.clientPerson.waits.isEmpty })
        #expect(stage.clientPerson.waits == ["Desk Reader"])
        isFree.signal()
        #expect(eventually { signature.isMade })
        #expect(try stage.isSignature(try #require(try signature.get()), of: .cardAuthentication))
        #expect(stage.clientPerson.waits == ["Desk Reader", "over"])
        #expect(stage.person.waits.isEmpty)
    }
}
