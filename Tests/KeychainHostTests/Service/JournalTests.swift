import Glibc
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost

/// The journal of a host's process, and what requests write into it.
@Suite struct JournalTests {
    private static let client = HostStatus.Client(process: 4711, program: "ssh")

    @Test func theLastEventsAreKeptInTheirOrder() {
        let journal = Journal()
        let writer = ClientJournal(journal, of: Self.client)
        #expect(journal.page(after: nil) == JournalPage([], next: 0))
        for number in 0..<Journal.capacity + 5 { writer.note(.sign, "\(number)", of: "card") }
        let page = journal.page(after: nil)
        #expect(page.entries.count == Journal.capacity)
        #expect(page.entries.first?.item == "5" && page.entries.last?.item == "\(Journal.capacity + 4)")
        #expect(page.next == UInt64(Journal.capacity + 5) && !page.isIncomplete)
        #expect(journal.page(after: page.next) == JournalPage([], next: page.next))
        #expect(journal.page(after: page.next - 2).entries.map(\.item) == page.entries.suffix(2).map(\.item))
        #expect(journal.page(after: 4).isIncomplete && !journal.page(after: 5).isIncomplete)
        // A position of a former host.
        #expect(journal.page(after: .max).entries.count == Journal.capacity)
    }

    @Test func aLineHasNothingThatATerminalObeysAndNamesHaveALimit() throws {
        let lines = Mutex<[String]>([])
        let journal = Journal { line in lines.withLock { $0.append(line) } }
        let writer = ClientJournal(journal, of: HostStatus.Client(process: 1, program: "a\u{1B}[2Jb"))
        writer.note(.read, "x\n\u{202E}", of: String(repeating: "e\u{301}", count: 1000), failure: .authFailed)
        let entry = try #require(journal.page(after: nil).entries.first)
        #expect(entry.item == "x\n\u{202E}" && entry.keychain?.unicodeScalars.count == 200)
        #expect(entry.line.hasPrefix("a\u{FFFD}[2Jb[1]: read 'x\u{FFFD}\u{FFFD}' of '"))
        #expect(entry.line.hasSuffix("': failed, the password or PIN was not accepted"))
        #expect(lines.withLock { $0 } == [entry.line])
    }

    private func journal(_ stage: ServiceStage) throws -> [String] {
        let entries = try stage.service.journal(after: nil, waiting: .zero, RequestContext()).entries
        return entries.map { String($0.line.drop { $0 != ":" }.dropFirst(2)) }
    }

    @Test(arguments: ServiceRoute.allCases)
    func usesOfKeysAndPasswordsAreNotedWithTheirOutcome(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route, person: TypesInTurn("999999", "123456"))
        let identity = try stage.identity()
        let label = try #require(identity.key.label)
        #expect(try journal(stage).isEmpty)
        _ = try stage.sign()
        let request = KeyRequest(
            .sign(ServiceStage.digest), ServiceStage.algorithm, with: try stage.identity(.signature).key.reference)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.service.perform(request, RequestContext(questions: .never))
        }
        let notes = try journal(stage)
        try #require(notes.count == 3, "\(notes)")
        #expect(notes[0].hasPrefix("give a PIN for '") && notes[0].contains("failed"))
        #expect(notes[1] == "sign with '\(label)' of 'Desk Reader': done")
        #expect(notes[2].hasPrefix("sign with '") && notes[2].hasSuffix("failed, nobody could be asked"))
        #expect(!"\(notes)".contains("123456") && !"\(notes)".contains("999999"))
    }

    @Test(arguments: ServiceRoute.allCases)
    func keychainsAndLoginsAreNoted(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let item = try stage.addPassword("anna", "hidden")
        _ = try stage.service.secret(of: item.reference, RequestContext(questions: .never))
        _ = try stage.service.lock(stage.login.identifier, RequestContext())
        _ = try? stage.service.unlock(stage.login.identifier, RequestContext(questions: .never))
        let pin = RequestContext.Credential(.pin, Secret(copying: Array("123456".utf8).span))
        let context = RequestContext(questions: .never, credentials: [pin], place: "Desk Reader")
        try stage.service.logIn(to: "Desk Reader", forOneUse: false, context)
        try stage.service.logOut(of: "Desk Reader", RequestContext(place: "Desk Reader"))
        try stage.service.logOut(of: "Desk Reader", RequestContext(place: "Desk Reader"))
        let notes = try journal(stage)
        #expect(
            notes == [
                "read 'mail' of 'login': done", "lock 'login': done",
                "unlock 'login': failed, nobody could be asked", "log in to 'Desk Reader': done",
                "log out of 'Desk Reader': done",
            ])
        #expect(!"\(notes)".contains("hidden"))
    }

    @Test(arguments: ServiceRoute.allCases)
    func aRequestWaitsForTheNextEvent(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let service = stage.service
        let next = try service.journal(after: nil, waiting: .zero, RequestContext()).next
        let page = Mutex<JournalPage?>(nil)
        BlockingThread.start {
            let found = try? service.journal(after: next, waiting: .seconds(60), RequestContext())
            page.withLock { $0 = found }
        }
        _ = try stage.service.lock(stage.work.identifier, RequestContext())
        #expect(eventually { page.withLock { $0?.entries.map(\.action) } == [.lock] })
        #expect(try service.journal(after: next + 1, waiting: .milliseconds(20), RequestContext()).entries.isEmpty)
    }

    @Test(arguments: ServiceRoute.allCases)
    func aHostTellsOfItsProcess(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        let status = try stage.service.hostStatus(RequestContext())
        #expect(status.process == getpid() && status.version == HostStatus.currentVersion && status.clients.isEmpty)
    }
}
