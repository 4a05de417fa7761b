import Foundation
import Glibc
import HostAPI
import HostConnection
import KeychainModel
import Localization
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import Wire
import WireTransport

@testable import HostServer
@testable import KeychainHost

/// What only sockets between a client and its host can do to requests.
@Suite struct ServiceSocketTests {
    private static var empty: Secret { Secret(capacity: 0) { _ in } }

    private static let abilities = PromptAbilities(of: TypesInTurn())

    /// The client's end of a connection to a host, frame by frame.
    private func connect(to stage: ServiceStage, _ hello: ServiceHello? = nil) throws -> FrameSocket {
        let first = FrameSocket(try ServiceRoute.serve(stage.host))
        let hello = (hello ?? ServiceHello(environment: [])).encoded()
        #expect(send(.serviceHello, number: 0, hello, over: first))
        return first
    }

    private func request(
        _ request: HostRequest, _ context: RequestContext, over connection: FrameSocket, number: UInt32 = 1
    ) {
        let message = request.message(context)
        let isSent = connection.sendMessage(.request, number: number, message.bytes, message.lane)
        #expect(isSent)
    }

    private func send(
        _ kind: FrameHeader.Kind, number: UInt32, _ fields: [UInt8], over connection: FrameSocket
    ) -> Bool {
        connection.send(kind, number: number, fields, Self.empty)
    }

    /// The next message, whose secrets are of no interest.
    private func next(
        _ connection: FrameSocket
    ) throws -> (kind: FrameHeader.Kind, number: UInt32, fields: [UInt8]) {
        guard let message = connection.receiveMessage(upTo: FrameSocket.maximumFields) else {
            throw WireError.truncated
        }
        return (message.kind, message.number, message.fields)
    }

    private func signature(_ stage: ServiceStage) throws -> HostRequest {
        .perform(
            KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: try stage.identity().key.reference))
    }

    // MARK: Long messages

    @Test func requestsAndAnswersLongerThanAFrameComeWhole() throws {
        let stage = try ServiceStage(.socket)
        let comment = String(repeating: "all that is known of this account ", count: 1_000)
        let accounts = (0..<80).map { "account \($0)" }
        let steps = try accounts.map { account in
            let attributes = ItemAttributes<GenericPasswords>().setting(.service, "mail").setting(.account, account)
                .setting(.comment, comment)
            return ChangeStep.add(Addition(try .genericPassword(attributes, secret: .of("s3cret"))))
        }
        #expect(HostRequest.change(steps).message(RequestContext()).bytes.count > 2 * FrameHeader.maximumFields)
        _ = try stage.service.change(steps, RequestContext())
        let found = try stage.service.items(.genericPasswords.where(.service, "mail")).found
        #expect(Set(found.compactMap { $0[.account]?.string }) == Set(accounts))
        #expect(found.allSatisfy { $0[.comment]?.string == comment })
    }

    @Test func aMessageBeyondAllFramesIsNotSent() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (one, other) = (FrameSocket(ends[0]), FrameSocket(ends[1]))
        let fields = [UInt8](repeating: 0, count: FrameSocket.maximumFields + 1)
        let isSent = one.sendMessage(.request, number: 1, fields, Self.empty)
        #expect(!isSent)
        one.shutDown()
        let isNothing = other.receive() == nil
        #expect(isNothing)
    }

    private static let falseParts: [[FrameHeader]] = [
        // Another request's part, a part without fields, one with secrets, and parts beyond the maximum. What follows would end a message.
        [header(.part, 1, 4), header(.request, 2, 4)],
        [header(.part, 1, 0), header(.request, 1, 4)],
        [FrameHeader(.part, number: 1, fieldCount: 4, secretCount: 4), header(.request, 1, 4)],
        [header(.part, 1, 90), header(.request, 1, 11)],
    ]

    private static func header(_ kind: FrameHeader.Kind, _ number: UInt32, _ fieldCount: Int) -> FrameHeader {
        FrameHeader(kind, number: number, fieldCount: fieldCount, secretCount: 0)
    }

    @Test(arguments: falseParts) func partsThatFitNoMessageEndIt(headers: [FrameHeader]) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (one, other) = (FrameSocket(ends[0]), FrameSocket(ends[1]))
        for header in headers {
            let bytes = header.encoded() + [UInt8](repeating: 7, count: header.fieldCount + header.secretCount)
            #expect(Glibc.send(one.descriptor, bytes, bytes.count, 0) == bytes.count)
        }
        one.shutDown()
        let quota = MessageQuota()
        let isNothing = other.receiveMessage(upTo: 100, quota) == nil
        #expect(isNothing)
        // None of them still counts.
        for _ in 0..<4 { #expect(quota.take()) }
        #expect(!quota.take())
    }

    /// The client gives up a host that says nothing.
    @Test func aLongMessageThatWaitsForOthersHearsThatTheHostIsAlive() throws {
        let stage = try ServiceStage(.call)
        let first = try connect(to: stage)
        defer { first.shutDown() }
        var connections: [FrameSocket] = []
        for number in 1...5 as ClosedRange<UInt32> {
            let connection = try #require(first.makeConnection())
            let header = FrameHeader(.request, number: number, fieldCount: 1 << 20, secretCount: 1 << 20).encoded()
            #expect(Glibc.send(connection.descriptor, header, header.count, 0) == header.count)
            connections.append(connection)
        }
        let isHeard = eventually(within: 20) {
            connections.contains { $0.receive(by: .now + .milliseconds(1))?.header.kind == .working }
        }
        #expect(isHeard)
    }

    // MARK: Clients that end, or lie

    @Test(arguments: ["ends", "says nothing that fits", "answers another question", "sends a request"])
    func aClientThatDoesNotReplySpendsNoTryAndHarmsNoOther(way: String) throws {
        let stage = try ServiceStage(.socket, person: TypesInTurn("123456"))
        let first = try connect(to: stage)
        defer { first.shutDown() }
        let connection = try #require(first.makeConnection())
        request(try signature(stage), RequestContext(questions: .byClient), over: connection, number: 7)
        let question = try next(connection)
        #expect(question.kind == .question)
        #expect(question.number == 7)
        switch way {
        case "ends": connection.shutDown()
        case "says nothing that fits": #expect(send(.reply, number: 7, [1, 2, 3], over: connection))
        case "answers another question":
            let reply = HostReply.consent(true).message()
            let isSent = connection.sendMessage(.reply, number: 8, reply.bytes, reply.lane)
            #expect(isSent)
        default: #expect(send(.request, number: 7, [], over: connection))
        }
        let isOver = connection.receive() == nil
        #expect(isOver)
        #expect(stage.pinsSent == 0)
        #expect(try stage.isSignature(try stage.sign()))
    }

    @Test func aRequestThatIsReadAfterTheEndOfItsClientIsCancelled() throws {
        let stage = try ServiceStage(.call)
        stage.host.end()
        #expect(throws: KeychainError(.userCanceled)) { try stage.host.places(RequestContext()) }
    }

    @Test func theWaitsOfAClientThatEndsAreOver() throws {
        let stage = try ServiceStage(.call)
        let first = try connect(to: stage)
        let connection = try #require(first.makeConnection())
        request(.events(of: .keychains, after: nil, waiting: .zero), RequestContext(), over: connection)
        let page = try next(connection).fields
        guard case .events(let events) = try HostAnswer(parsing: page, lane: Self.empty) else {
            Issue.record("it is no page of events")
            return
        }
        request(
            .events(of: .keychains, after: events.next, waiting: .seconds(3600)), RequestContext(),
            over: connection)
        #expect(eventually { stage.host.requests.count == 1 })
        first.shutDown()
        #expect(eventually { stage.host.requests.count == 0 })
    }

    private static let others: [FrameHeader.Kind] = [
        .hello, .serviceHello, .join, .connection, .answer, .working, .question, .reply, .trace, .notice,
    ]

    @Test(arguments: others) func whatIsNoRequestEndsItsConnectionAlone(kind: FrameHeader.Kind) throws {
        let stage = try ServiceStage(.call)
        let first = try connect(to: stage)
        defer { first.shutDown() }
        let (one, other) = (try #require(first.makeConnection()), try #require(first.makeConnection()))
        #expect(send(kind, number: 1, [], over: one))
        let isOver = one.receive() == nil
        #expect(isOver)
        request(.places, RequestContext(), over: other)
        let answer = try next(other)
        #expect(answer.kind == .answer)
    }

    @Test func aCancellationOfAnUnknownRequestIsAnswered() throws {
        let stage = try ServiceStage(.call)
        let first = try connect(to: stage)
        defer { first.shutDown() }
        let connection = try #require(first.makeConnection())
        #expect(send(.cancellation, number: 3, RequestNumber(rawValue: 9).encoded(), over: connection))
        #expect(try next(connection) == (.answer, 3, []))
        request(.places, RequestContext(), over: connection)
        let answer = try next(connection)
        #expect(answer.kind == .answer)
    }

    @Test(arguments: ServiceRoute.allCases) func aCancellationMayOvertakeItsRequest(route: ServiceRoute) throws {
        let service = try ServiceStage(route).service
        _ = try service.places(RequestContext())
        service.cancel(RequestNumber(rawValue: 9))
        #expect(throws: KeychainError(.userCanceled)) {
            try service.places(RequestContext(number: RequestNumber(rawValue: 9)))
        }
        #expect(throws: Never.self) { try service.places(RequestContext(number: RequestNumber(rawValue: 8))) }
        #expect(throws: Never.self) { try service.places(RequestContext()) }
    }

    @Test func aClientThatCancelsWithoutEndTakesNoMemory() throws {
        let stage = try ServiceStage(.call)
        for number in 0..<1_000 as Range<UInt64> {
            for _ in 0..<2 { stage.service.cancel(RequestNumber(rawValue: number)) }
        }
        func isCancelled(_ number: UInt64) -> Bool {
            (try? stage.service.places(RequestContext(number: RequestNumber(rawValue: number)))) == nil
        }
        #expect((0..<1_000).filter(isCancelled) == Array(872..<1_000))
        #expect(!isCancelled(999))
    }

    // MARK: Hosts

    @Test func whatOnlyEndsSomethingStartsNoHost() throws {
        let host = SocketClient.Host { () throws(KeychainError) -> Int32 in
            Issue.record("it connects")
            throw KeychainError(.internal)
        }
        let service = SocketClient(of: [host], prompter: NoPrompter(), environment: []).service
        service.cancel(RequestNumber(rawValue: 1))
        try service.endAuthentication(.next(), RequestContext())
    }

    @Test(arguments: [(1, 1, 1), (1, 9, 2), (2, 2, 2), (2, 9, 2), (3, 9, nil), (0, 0, nil), (2, 1, nil)])
    func aClientIsServedInAVersionThatBothSpeak(oldest: UInt64, newest: UInt64, version: UInt64?) throws {
        let stage = try ServiceStage(.call)
        let hello = ServiceHello(
            oldestVersion: oldest, newestVersion: newest, environment: [], abilities: Self.abilities)
        let first = try connect(to: stage, hello)
        let answer = try next(first)
        #expect(try HelloAnswer(parsing: answer.fields) == (version.map { .served(version: $0) } ?? .otherVersion))
    }

    /// The answers of hosts that do not serve, and the advice for each.
    private static let refusals: [(HelloAnswer, String)] = [
        (.otherVersion, "tokenctl host stop"), (.otherEnvironment, "other folders"), (.busy, "all the clients"),
    ]

    @Test(arguments: refusals) func aRefusalSaysWhy(answer: HelloAnswer, words: String) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (end, host) = (End(ends[0]), FrameSocket(ends[1]))
        #expect(send(.hello, number: 0, answer.encoded(), over: host))
        do throws(KeychainError) {
            try client(of: end).connect()
            Issue.record("it was served")
        } catch {
            #expect(error.code == .notAvailable)
            #expect("\(error)".contains(words))
        }
    }

    private static let done = HostAnswer.done.message().bytes

    /// What a host sends in place of an answer.
    private static let falseAnswers: [(FrameHeader.Kind, UInt32, [UInt8])] = [
        (.answer, 1, [1, 2, 3]), (.answer, 2, done), (.answer, 0, done), (.request, 1, []), (.question, 1, [0xFF]),
        (.hello, 1, []), (.notice, 1, [0xFF]),
    ]

    @Test(arguments: falseAnswers)
    func anAnswerThatIsNoneIsAnError(kind: FrameHeader.Kind, number: UInt32, fields: [UInt8]) throws {
        let (client, connection) = try falseHost { connection in
            _ = connection.send(kind, number: number, fields, Self.empty)
        }
        #expect(throws: KeychainError(.notAvailable)) { try client.service.places(RequestContext()) }
        _ = connection
    }

    @Test func aHostThatEndsAmidARequestIsAnErrorNowAndLater() throws {
        let (client, _) = try falseHost { $0.shutDown() }
        for _ in 0..<2 { #expect(throws: KeychainError(.notAvailable)) { try client.service.places(RequestContext()) } }
    }

    /// The client's end of a connection to a host that is not started again.
    private final class End: Sendable {
        private let descriptor: Mutex<Int32?>

        init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

        func take() throws(KeychainError) -> Int32 {
            guard let descriptor = descriptor.withLock({ $0.take() }) else {
                throw KeychainError(.notAvailable, "the session has no host")
            }
            return descriptor
        }
    }

    private func client(of end: End) -> SocketClient {
        let host = SocketClient.Host { () throws(KeychainError) in try end.take() }
        return SocketClient(of: [host], prompter: NoPrompter(), environment: [])
    }

    /// A client of a host that reads one request, and answers as `body` does.
    private func falseHost(
        _ body: @escaping @Sendable (FrameSocket) -> Void
    ) throws -> (client: SocketClient, first: FrameSocket) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (end, first) = (End(ends[0]), FrameSocket(ends[1]))
        #expect(send(.hello, number: 0, HelloAnswer.served(version: 1).encoded(), over: first))
        BlockingThread.start {
            _ = first.receive()
            var awaited = pollfd(fd: first.descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&awaited, 1, -1)
            guard case .connection(let connection) = first.receiveHandedIn(),
                connection.receiveMessage(upTo: 1 << 20) != nil
            else {
                return
            }
            body(connection)
            first.shutDown()
        }
        return (client(of: end), first)
    }

    @Test func manyThreadsAskAtOnce() throws {
        let stage = try ServiceStage(.socket)
        for number in 0..<20 { try stage.addPassword("account \(number)") }
        let wrong = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            for _ in 0..<20 where (try? stage.accounts().count) != 20 { wrong.add(1, ordering: .relaxed) }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }
}
