import ArgumentParser
import Foundation
import KeychainHost
import KeychainModel
import TestSupport
import Testing

@testable import tokenctl

/// The sections of the manual page that are not made from the help.
@Suite struct ManualTests {
    private let lines: [String]

    init() throws {
        let path = Program.packageRoot.appending(path: "Documentation/tokenctl.mdoc").path()
        lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func `Every command has an example, which it understands`() throws {
        let examples = lines.filter { $0.hasPrefix(".It Ic tokenctl ") }.map {
            String($0.dropFirst(16)).replacing(#"\-"#, with: "-")
        }
        var commands: Set<String> = []
        for example in examples {
            let words = try #require(CommandWords.split(example))
            commands.insert(words[0])
            #expect(throws: Never.self, "\(example)") {
                _ = try Tokenctl.parseAsRoot(ArgumentForms.expanded(CommandName.completed(words)))
            }
        }
        #expect(Set(CommandName.all).subtracting(commands) == [])
    }

    @Test func `Every exit status is explained`() {
        let explained = Set(lines.compactMap { $0.hasPrefix(".It ") ? Int32($0.dropFirst(4)) : nil })
        for code in ErrSec.allNamed where code.rawValue != 0 {
            #expect(explained.contains(CommandLineInterpreter.status(of: code)), "\(code)")
            let isNamed = lines.contains { $0.contains(code.name ?? "?") }
            #expect(isNamed || CommandLineInterpreter.status(of: code) == 1, "\(code)")
        }
    }

    @Test func `The sections are those of manual pages`() {
        let sections = lines.filter { $0.hasPrefix(".Sh ") }.map { $0.dropFirst(4) }
        #expect(sections == ["ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES", "SEE ALSO"])
    }

    @Test func `The help begins with what people come for`() throws {
        let help = Tokenctl.helpMessage().split(separator: "\n")
        let commands = help.prefix(20).compactMap { $0.split(separator: " ").first.map(String.init) }
            .filter(CommandName.all.contains)
        #expect(commands.count == 10)
    }
}
