import Foundation
import TestSupport
import Testing

@testable import Prompters

/// A pinentry of a few lines of shell, which logs its commands.
struct FakePinentry {
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - answers: the shell code that answers a command; other commands are answered with `OK`.
    ///   - greeting: the shell code that runs first.
    init(_ answers: [String: String] = [:], greeting: String = "echo OK ready") throws {
        folder = try TemporaryFolder()
        let cases = answers.map { "\($0)) \($1) ;;" }.joined(separator: "\n")
        let script = """
            log='\(folder.path("log"))'
            echo $$ >'\(folder.path("process"))'
            \(greeting)
            while IFS= read -r line; do
                printf '%s\\n' "$line" >>"$log"
                case "${line%% *}" in
                \(cases)
                OPTION) case "$line" in *' ttyname='*) tty=${line#*=} ;; esac; echo OK ;;
                BYE) echo OK; exit 0 ;;
                *) echo OK ;;
                esac
            done
            """
        try folder.writeProgram("pinentry", script)
    }

    var prompter: PinentryPrompter { prompter(at: .ofProcess) }

    func prompter(at place: PromptPlace) -> PinentryPrompter {
        PinentryPrompter(program: folder.path("pinentry"), at: place)
    }

    /// A process that asks through this pinentry on a terminal.
    func asker(_ question: String) throws -> (AskerProcess, PseudoTerminal) {
        let terminal = try PseudoTerminal()
        let asker = try AskerProcess(
            ["pinentry:\(folder.path("pinentry"))", question], on: terminal,
            environment: ["ASKER_TTY": terminal.path, "TERM": "xterm"])
        return (asker, terminal)
    }

    /// The commands so far, without `OPTION` and `BYE`.
    var commands: [String] { lines.filter { !$0.hasPrefix("OPTION") && $0 != "BYE" } }

    var options: [String] { lines.filter { $0.hasPrefix("OPTION") } }

    private var lines: [String] {
        let text = (try? folder.read("log")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// The number of the process that was started last.
    var process: pid_t {
        get throws {
            let text = String(decoding: try folder.read("process"), as: UTF8.self)
            return try #require(pid_t(text.split(separator: "\n").first ?? ""))
        }
    }
}
