// Asks through a prompter and prints each answer or error on a line, for tests that need a process with its own terminal
// or environment.
//
//     PromptAsker terminal|nobody|pinentry:PROGRAM pin|newPIN|confirm|decide|decideOnce|canAsk …

import Glibc
import HostAPI
import KeychainModel
import Prompters
import SecureBytes

func prompter(_ text: String) throws -> any Prompter {
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    switch parts[0] {
    case "terminal": return TerminalPrompter()
    case "pinentry":
        return PinentryPrompter(
            program: parts[1], at: PromptPlace(terminal: getenv("ASKER_TTY").map { String(cString: $0) }))
    default: return NoPrompter()
    }
}

func hex(_ secret: borrowing Secret) -> String {
    let bytes = secret.bytes
    return Hex.encode(bytes.indices.map { bytes[$0] })
}

func answer(_ question: String, _ prompter: any Prompter) throws(KeychainError) -> String {
    switch question {
    case "confirm": return try prompter.confirm("Really?") ? "yes" : "no"
    case "decide", "decideOnce":
        let program = AccessQuestion.Program(name: "mail\u{1B}[2J", path: "/usr/bin/mail")
        let offersAlways = question == "decide"
        return
            "\(try prompter.decide(AccessQuestion(.sign, of: "login key", by: program, offersAlways: offersAlways)))"
    case "canAsk": return prompter.canAsk ? "yes" : "no"
    default:
        let purpose: PromptRequest.Purpose = question == "newPIN" ? .newPIN : .pin
        return hex(try prompter.ask(PromptRequest(purpose, subject: "test card", use: "sign", triesLeft: 3)))
    }
}

let asked = try prompter(CommandLine.arguments[1])
for question in CommandLine.arguments.dropFirst(2) {
    do throws(KeychainError) {
        print(try answer(question, asked))
    } catch {
        print("error \(error.code.rawValue)")
    }
}
