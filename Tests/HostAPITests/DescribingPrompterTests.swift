import HostAPI
import KeychainModel
import SecureBytes
import Synchronization
import Testing

/// Questions whose purpose is made when they are asked.
@Suite struct DescribingPrompterTests {
    /// Notes the purposes of its questions.
    private final class Person: Prompter {
        let purposes = Mutex<[String?]>([])
        let canAsk = true
        let canAskAgain = true

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            purposes.withLock { $0.append(request.use) }
            return Secret(capacity: 0) { _ in }
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { true }

        func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
            purposes.withLock { $0.append(question.purpose) }
            return .allowOnce
        }

        func tell(_ message: String) { purposes.withLock { $0.append(message) } }
    }

    private let person = Person()
    private let program = AccessQuestion.Program(name: "ssh")

    private func purposes() -> [String?] { person.purposes.withLock(\.self) }

    private func ask(_ request: PromptRequest, _ prompter: some Prompter) throws {
        _ = try prompter.ask(request)
    }

    @Test func thePurposeIsMadeOnceForEachQuestion() throws {
        let calls = Mutex(0)
        let prompter = DescribingPrompter(person) {
            calls.withLock { calls in
                calls += 1
                return "purpose \(calls)"
            }
        }
        #expect(prompter.canAsk && prompter.canConfirm && prompter.allowsPINPad)
        prompter.tell("no question")
        #expect(calls.withLock(\.self) == 0)
        let request = PromptRequest(.pin, subject: "card", use: "sign data", triesLeft: 3, failure: "wrong")
        try ask(request, prompter)
        prompter.tellOfPINPad(request)
        #expect(try prompter.decide(AccessQuestion(.sign, of: "key", by: program)) == .allowOnce)
        // Another program's purpose is unknown, and a new PIN has none.
        _ = try prompter.decide(AccessQuestion(.sign, of: "key", by: program, requestedBy: "other"))
        try ask(PromptRequest(.newPIN, subject: "card"), prompter)
        #expect(
            purposes() == [
                "no question", "sign data: purpose 1", "wrong",
                "Enter the PIN for 'card' to sign data: purpose 2 on the reader's keypad, 3 tries left", "purpose 3",
                nil, nil,
            ])
        #expect(calls.withLock(\.self) == 3)
    }

    @Test func withoutAPurposeTheRequestsOwnIsAsked() throws {
        let prompter = DescribingPrompter(person) { nil }
        try ask(PromptRequest(.pin, subject: "card", use: "sign data"), prompter)
        _ = try prompter.decide(AccessQuestion(.sign, of: "key", by: program, for: "log in"))
        #expect(purposes() == ["sign data", "log in"])
    }

    @Test func aQuestionForASecretNamesTheProgram() throws {
        let prompter = DescribingPrompter(person, for: "ssh-keygen") { "sign a file" }
        try ask(PromptRequest(.pin, subject: "card", use: "sign data"), prompter)
        try ask(PromptRequest(.pin, subject: "card", use: "sign data"), DescribingPrompter(person, for: "ssh") { nil })
        // The question about a program names it by itself.
        _ = try prompter.decide(AccessQuestion(.sign, of: "key", by: program, for: "log in"))
        #expect(purposes() == ["sign data: sign a file for 'ssh-keygen'", "sign data for 'ssh'", "sign a file"])
    }
}
