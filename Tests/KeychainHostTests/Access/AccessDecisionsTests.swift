import Foundation
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing

@testable import KeychainHost

/// The decisions which program may use which item.
@Suite struct AccessDecisionsTests {
    private let decisions = AccessDecisions()
    private let key = AccessItem(key: "card/9A", name: "login key", in: "card")
    private let other = AccessItem(key: "card/9D", name: "encryption key", in: "card")
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A process of a client.
    private final class Client: Sendable {
        let program: AskingProgram
        let process: Int32
        private let child: ChildProcess
        private let isEnded = Atomic(false)

        /// - Parameter name: the name of the file that the process runs at last.
        init(_ command: [String], running name: String) throws {
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            defer { close(null) }
            child = try ChildProcess(command, streams: [null, null, null])
            process = child.identifier
            let identifier = process
            try #require(eventually { Executable.name(of: identifier) == name })
            let handle = try #require(ProcessHandle(identifier))
            program = AskingProgram(handle, user: AccessDecisionsTests.user)
        }

        deinit { end() }

        func end() {
            guard !isEnded.exchange(true, ordering: .relaxed) else { return }
            kill(process, SIGKILL)
            child.wait()
        }
    }

    /// A program of the system.
    private func client() throws -> Client { try Client(["sleep", "600"], running: "sleep") }

    private static let user = geteuid() == 0 ? 65_534 : geteuid()

    /// A program of the user, of this content.
    private func copy(_ addition: String = "", name: String = "copy") throws -> Client {
        let path = folder.path(name)
        let script =
            "cp \"$(command -v sleep)\" \"$0.new\" && printf %s \"$1\" >>\"$0.new\" && chown \"$2\" \"$0.new\" && mv \"$0.new\" \"$0\""
        let result = try Program.run(["sh", "-c", script, path, addition, "\(Self.user)"])
        try #require(result.status == 0)
        return try Client([path, "600"], running: name)
    }

    private func isAllowed(
        _ client: Client, _ prompter: any Prompter, _ use: AccessQuestion.Use = .sign, _ item: AccessItem? = nil,
        in decisions: AccessDecisions? = nil
    ) throws -> Bool {
        do throws(KeychainError) {
            try (decisions ?? self.decisions).require(use, of: item ?? key, by: client.program, asking: prompter)
            return true
        } catch {
            guard error.code == .userCanceled else { throw error }
            return false
        }
    }

    /// Another machine is in the place of a program, and none of the user's programs is meant by it, nor it by any of them.
    @Test func aMachineIsAllowedAUseOfAnItem() throws {
        let client = try client()
        let machine = RemoteMachine(id: "a b", named: "b, over a")
        func isAllowed(_ use: AccessQuestion.Use = .sign, _ item: AccessItem? = nil, _ id: String = "a b") -> Bool {
            decisions.isAlwaysAllowed(use, of: item ?? key, to: id)
        }
        #expect(!isAllowed() && !decisions.hasUnsaved)
        try decisions.allow(
            [.any], key, for: client.program, asking: Decides(.allowOnce), checking: { () throws(KeychainError) in })
        #expect(!isAllowed())
        _ = try decisions.forget(item: nil, program: nil)
        decisions.allowAlways(.sign, of: key, to: machine)
        #expect(isAllowed() && decisions.hasUnsaved)
        #expect(!isAllowed(.decrypt) && !isAllowed(.sign, other))
        for id in ["a", "b", "b a", "a b c", ""] { #expect(!isAllowed(.sign, nil, id), "\(id)") }
        #expect(try !self.isAllowed(client, Decides(.deny)))
        #expect(decisions.unsaved.map(\.program) == ["machine b, over a"])
        #expect(try decisions.forget(item: other, program: nil) == 0)
        #expect(try decisions.forget(item: nil, program: .any) == 0)
        #expect(try decisions.forget(item: key, program: client.program.formerProgram(at: "machine b")) == 0)
        #expect(isAllowed())
        #expect(try decisions.forget(item: key, program: client.program.formerProgram(at: "machine b, over a")) == 1)
        #expect(!isAllowed() && decisions.unsaved.isEmpty)
        decisions.allowAlways(.sign, of: key, to: machine)
        #expect(try decisions.forget(item: nil, program: nil) == 1)
        #expect(!isAllowed())
    }

    @Test func whatIsAllowedOnceIsAskedAgain() throws {
        let client = try client()
        let person = Decides(.allowOnce, .allowOnce, .deny)
        #expect(try isAllowed(client, person))
        #expect(try isAllowed(client, person))
        #expect(try !isAllowed(client, person))
        #expect(person.questions.count == 3)
        let question = try #require(person.questions.first)
        #expect((question.program.name, question.item, question.use) == ("sleep", "login key", .sign))
        #expect(question.program.path?.hasSuffix("/sleep") == true && question.program.starter != nil)
        #expect(question.offersAlways && !question.hasChanged && question.patience == .seconds(60))
    }

    @Test func whatIsAlwaysAllowedIsNotAskedAgain() throws {
        let person = Decides(.allowAlways)
        #expect(try isAllowed(client(), person))
        #expect(try isAllowed(client(), NoPrompter()), "another process of the same program")
        #expect(try !isAllowed(client(), person, .decrypt), "another use")
        #expect(try !isAllowed(client(), person, .sign, other), "another item")
        #expect(try !isAllowed(copy(name: "sleep"), person), "a copy of the program")
        #expect(person.questions.count == 4)
    }

    @Test func aDenialHoldsForOneTime() throws {
        let decisions = AccessDecisions(denialLasts: .zero)
        let client = try client()
        let person = Decides(.deny, .allowOnce)
        let error = #expect(throws: KeychainError(.userCanceled)) {
            try decisions.require(.sign, of: key, by: client.program, asking: person)
        }
        #expect(error?.reason == "'sleep' was not allowed to sign with 'login key'")
        #expect(try isAllowed(client, person, in: decisions))
    }

    /// A program could ask until the person gives in.
    @Test func aDenialAnswersEqualQuestionsForAMoment() throws {
        let client = try client()
        let person = Decides(.deny, .allowOnce)
        for _ in 1...3 {
            #expect(throws: KeychainError(.userCanceled)) {
                try decisions.require(.sign, of: key, by: client.program, asking: person)
            }
        }
        #expect(person.questions.count == 1)
        try decisions.require(.decrypt, of: key, by: client.program, asking: person)
    }

    @Test func whereNobodyCanBeAskedItFailsAtOnce() throws {
        let client = try client()
        for prompter in [NoPrompter(), AnswersByScript("123456")] as [any Prompter] {
            #expect(throws: KeychainError(.interactionNotAllowed)) { try isAllowed(client, prompter) }
        }
        // It is not made to wait for a question that another thread asks.
        let isAsked = CountingSemaphore()
        let mayAnswer = CountingSemaphore()
        let slow = Decides(.allowOnce) { _ in
            isAsked.signal()
            mayAnswer.wait()
        }
        let first = run { try isAllowed(client, slow) }
        isAsked.wait()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try isAllowed(client, NoPrompter()) }
        mayAnswer.signal()
        #expect(first.result == true)
    }

    @Test func aProgramThatHasEndedIsAllowedNothing() throws {
        let client = try client()
        #expect(try isAllowed(client, Decides(.allowAlways)))
        client.end()
        #expect(throws: KeychainError(.restrictedAPI)) { try isAllowed(client, NoPrompter()) }
    }

    /// A shell that executes another program once the file `mark` is there.
    private func changeling() throws -> Client {
        try copy().end()
        let script = "while [ ! -e \"$0\" ]; do sleep 0.02; done; exec \"$1\" 600"
        return try Client(["sh", "-c", script, folder.path("mark"), folder.path("copy")], running: shell)
    }

    private var shell: String { URL(filePath: "/bin/sh").resolvingSymlinksInPath().lastPathComponent }

    /// It could have sent a request, to have it judged as one of that program.
    @Test func aProgramThatExecutesAnotherOneIsNotTakenForThatOne() throws {
        let client = try changeling()
        #expect(try isAllowed(copy(), Decides(.allowAlways)), "the other one is allowed")
        #expect(try isAllowed(client, Decides(.allowOnce)))
        try folder.write("mark", "")
        #expect(eventually { Executable.name(of: client.process) == "copy" })
        let person = Decides(.allowOnce)
        #expect(throws: KeychainError(.restrictedAPI)) { try isAllowed(client, person) }
        #expect(person.questions.isEmpty)
    }

    @Test func aProgramThatIsAnotherOneAfterTheAnswerIsRefused() throws {
        let client = try changeling()
        let person = Decides(.allowOnce) { [folder, process = client.process] _ in
            _ = try? folder.write("mark", "")
            eventually { Executable.name(of: process) == "copy" }
        }
        #expect(throws: KeychainError(.restrictedAPI)) { try isAllowed(client, person) }
    }

    @Test func aProgramThatEndsDuringTheQuestionIsRefused() throws {
        let client = try client()
        let person = Decides(.allowAlways) { _ in client.end() }
        #expect(throws: KeychainError(.restrictedAPI)) { try isAllowed(client, person) }
        #expect(throws: KeychainError(.interactionNotAllowed), "nothing was remembered") {
            try isAllowed(self.client(), NoPrompter())
        }
    }

    @Test func aProgramThatCannotBeSeenIsRefused() {
        #expect(throws: KeychainError(.restrictedAPI)) {
            try decisions.require(.sign, of: key, by: AskingProgram(nil), asking: Decides(.allowAlways))
        }
    }

    @Test func aChangedProgramIsAskedAboutAnewAndToldAsChanged() throws {
        let decisions = AccessDecisions(denialLasts: .zero)
        let person = Decides(.allowAlways, .deny, .allowOnce, .allowOnce)
        #expect(try isAllowed(copy(), person, in: decisions))
        #expect(try isAllowed(copy(), NoPrompter(), in: decisions), "the same content")
        #expect(try !isAllowed(copy("1"), person, in: decisions))
        #expect(try isAllowed(copy("1"), person, in: decisions))
        #expect(try isAllowed(copy("1"), person, in: decisions))
        #expect(person.questions.map(\.hasChanged) == [false, true, true, false])
        #expect(try isAllowed(copy(), NoPrompter(), in: decisions), "the decision about the former one still holds")
    }

    @Test func anInterpreterIsNeverAlwaysAllowed() throws {
        let script = try folder.write("script.sh", "while :; do sleep 0.1; done\n")
        let client = try Client(["sh", script], running: shell)
        let person = Decides(.allowAlways, .deny)
        #expect(try isAllowed(client, person))
        #expect(try !isAllowed(client, person))
        #expect(person.questions.allSatisfy { !$0.offersAlways && $0.program.script == script })
    }

    // MARK: Requests at the same time

    private final class Running: Sendable {
        private let value = Mutex<Result<Bool, KeychainError>?>(nil)
        private let isOver = CountingSemaphore()

        init(_ body: @escaping @Sendable () throws -> Bool) {
            BlockingThread.start { [self] in
                let result: Result<Bool, KeychainError>
                do { result = .success(try body()) } catch {
                    result = .failure(error as? KeychainError ?? KeychainError(.internal))
                }
                value.withLock { $0 = result }
                isOver.signal()
            }
        }

        /// Whether the use was allowed; nil for an error, or none in a minute.
        var result: Bool? {
            guard isOver.wait(for: .seconds(60)) else { return nil }
            return value.withLock { try? $0?.get() }
        }
    }

    private func run(_ body: @escaping @Sendable () throws -> Bool) -> Running { Running(body) }

    /// Requests that wait for the answer to the first one.
    ///
    /// - Returns: whether each was allowed, and the number of questions.
    private func together(_ decisions: AccessDecision..., uses: [AccessQuestion.Use]) throws -> ([Bool?], Int) {
        let client = try client()
        let (isAsked, mayAnswer) = (CountingSemaphore(), CountingSemaphore())
        struct Person: Prompter {
            let decide: @Sendable () -> AccessDecision
            var canAsk: Bool { true }
            var canAskAgain: Bool { true }
            func ask(_ request: PromptRequest) throws(KeychainError) -> Secret { throw KeychainError(.userCanceled) }
            func confirm(_ question: String) throws(KeychainError) -> Bool { false }
            func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision { decide() }
        }
        let counts = Counts()
        let answers = Answers(decisions)
        let person = Person {
            counts.begin()
            isAsked.signal()
            mayAnswer.wait()
            counts.end()
            return answers.next()
        }
        let first = run { try isAllowed(client, person, uses[0]) }
        isAsked.wait()
        let rest = uses.dropFirst().map { use in run { try isAllowed(client, person, use) } }
        // Time for the others to wait.
        usleep(300_000)
        for _ in uses { mayAnswer.signal() }
        let results = ([first] + rest).map(\.result)
        #expect(counts.most == 1, "one question at a time")
        return (results, counts.all)
    }

    private final class Counts: Sendable {
        private let state = Mutex((now: 0, most: 0, all: 0))
        var most: Int { state.withLock(\.most) }
        var all: Int { state.withLock(\.all) }
        func begin() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.all + 1) } }
        func end() { state.withLock { $0.now -= 1 } }
    }

    private final class Answers: Sendable {
        private let rest: Mutex<ArraySlice<AccessDecision>>
        init(_ decisions: [AccessDecision]) { rest = Mutex(decisions[...]) }
        func next() -> AccessDecision { rest.withLock { $0.popFirst() ?? .deny } }
    }

    @Test func oneAnswerThatHoldsForEverIsTheAnswerToAll() throws {
        #expect(try together(.allowAlways, uses: [.sign, .sign, .sign]) == ([true, true, true], 1))
    }

    @Test func aDenialIsTheAnswerToAllThatWait() throws {
        #expect(try together(.deny, .allowOnce, uses: [.sign, .sign, .sign]) == ([false, false, false], 1))
    }

    @Test func anAnswerForOneUseIsForOneRequest() throws {
        let (results, count) = try together(.allowOnce, .allowOnce, .allowOnce, uses: [.sign, .sign, .sign])
        #expect(results == [true, true, true])
        #expect(count == 3)
    }

    @Test func anotherUseWaitsAndIsAskedByItself() throws {
        #expect(try together(.deny, .allowOnce, uses: [.sign, .decrypt]) == ([false, true], 2))
    }

    @Test func aRequestThatIsOverDoesNotWait() throws {
        let client = try client()
        let (isAsked, mayAnswer) = (CountingSemaphore(), CountingSemaphore())
        let person = Decides(.allowOnce) { _ in
            isAsked.signal()
            mayAnswer.wait()
        }
        let first = run { try isAllowed(client, person) }
        isAsked.wait()
        let start = ContinuousClock.now
        #expect(throws: KeychainError(.userCanceled)) {
            try decisions.require(.sign, of: key, by: client.program, asking: person) { () throws(KeychainError) in
                guard ContinuousClock.now - start < .milliseconds(200) else { throw KeychainError(.userCanceled) }
            }
        }
        mayAnswer.signal()
        #expect(first.result == true)
        #expect(person.questions.count == 1)
    }

    @Test func anotherProgramIsAskedAboutAfterTheAnswer() throws {
        let (one, other) = try (client(), copy())
        let (isAsked, mayAnswer) = (CountingSemaphore(), CountingSemaphore())
        let slow = Decides(.allowOnce) { _ in
            isAsked.signal()
            mayAnswer.wait()
        }
        let first = run { try isAllowed(one, slow) }
        isAsked.wait()
        let person = Decides(.allowOnce)
        let second = run { try isAllowed(other, person) }
        usleep(200_000)
        #expect(person.questions.isEmpty, "one question at a time is before the person")
        mayAnswer.signal()
        #expect(first.result == true)
        #expect(second.result == true)
        #expect(person.questions.count == 1)
    }

    // MARK: Limits

    @Test func onlyTheLatestEntriesAreKept() {
        var entries = RecentEntries<Int, String>(limit: 3)
        for number in 0..<5 { entries[number] = "\(number)" }
        #expect(entries.count == 3 && entries[1] == nil && entries[2] == "2" && entries[4] == "4")
        entries[2] = "again"
        entries[5] = "5"
        #expect(entries.count == 3 && entries[2] == "again" && entries[3] == nil)
        entries[2] = nil
        #expect(entries.count == 2 && entries[2] == nil)
    }

    @Test func aForgottenDecisionIsAskedAgain() throws {
        let decisions = AccessDecisions(policy: RememberedAccess(limit: 2))
        let client = try client()
        let items = (0..<3).map { AccessItem(key: "\($0)", name: "key \($0)", in: "card") }
        let person = Decides(.allowAlways, .allowAlways, .allowAlways)
        for item in items { try decisions.require(.sign, of: item, by: client.program, asking: person) }
        try decisions.require(.sign, of: items[2], by: client.program, asking: NoPrompter())
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try decisions.require(.sign, of: items[0], by: client.program, asking: NoPrompter())
        }
    }
}
