import HostAPI
import HostConnection
import KeychainModel
import Localization
import SecureBytes
import Synchronization
import TestSupport
import Testing

@testable import KeychainHost

/// A client of the host with services of several prompters, as a command has them.
@Suite struct OwnPrompterTests {
    private let stage: ServiceStage
    private let client: SocketClient
    private let alternative = "give it with --pin-source"

    init() throws {
        stage = try ServiceStage(.call, person: TypesInTurn("000000"))
        let host = SocketClient.Host { [host = stage.host] () throws(KeychainError) in try ServiceRoute.serve(host) }
        client = SocketClient(of: [host], prompter: NoPrompter(), environment: [])
    }

    private func sign(_ service: any KeychainService, _ context: RequestContext = RequestContext()) throws -> [UInt8] {
        let request = KeyRequest(
            .sign(ServiceStage.digest), ServiceStage.algorithm, with: try stage.identity().key.reference)
        return try service.perform(request, context).secret.copiedBytes
    }

    @Test func aServiceLeavesTheHostsQuestionsToItsOwnPrompter() throws {
        let person = TypesInTurn("123456")
        #expect(try stage.isSignature(sign(client.service(asking: person))))
        #expect(person.requests.map(\.purpose) == [.pin])
        // The PIN is given, for all services of the client.
        #expect(try stage.isSignature(sign(client.service(asking: NoPrompter()))))
        #expect(stage.person.requests.isEmpty)
    }

    @Test(arguments: RequestContext.Questions.allCases)
    func oneThatAsksNobodyTellsItsOwnAlternative(questions: RequestContext.Questions) throws {
        let service = client.service(asking: NoPrompter(alternative: alternative))
        #expect {
            try sign(service, RequestContext(questions: questions))
        } throws: {
            let error = $0 as? KeychainError
            return error?.code == .interactionNotAllowed && error?.remedy == alternative
        }
        #expect(stage.pinsSent == 0)
        #expect(stage.person.requests.isEmpty)
    }

    @Test func aRequestThatAsksNobodyTellsTheAlternativeOfItsPrompter() throws {
        let person = Reluctant(alternative: alternative)
        #expect {
            try sign(client.service(asking: person), RequestContext(questions: .never))
        } throws: {
            ($0 as? KeychainError)?.remedy == alternative
        }
        #expect(person.trials == 0)
    }

    /// To find out, a prompter may start a program.
    @Test func aPrompterIsAskedWhetherItCanAskWhenThatMatters() throws {
        let person = Reluctant(alternative: alternative)
        let service = client.service(asking: person)
        #expect(try !service.identities(.identities).found.isEmpty)
        #expect(person.trials == 0)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try sign(service) }
        #expect(person.trials > 0)
    }

    /// A prompter that counts how often it finds out that it cannot ask.
    private final class Reluctant: Prompter {
        let alternative: String
        private let count = Mutex(0)

        init(alternative: String) { self.alternative = alternative }

        var trials: Int { count.withLock(\.self) }
        var canAsk: Bool {
            count.withLock { $0 += 1 }
            return false
        }
        var canAskAgain: Bool { false }

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw .cannotAsk(request, by: self) }
        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    @Test func aClientThatHasEndedLeavesNothingInTheHost() throws {
        #expect(try stage.isSignature(sign(client.service(asking: TypesInTurn("123456")))))
        client.end()
        #expect(throws: KeychainError(.userCanceled)) { try stage.host.places(RequestContext()) }
    }
}
