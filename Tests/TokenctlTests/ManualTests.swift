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
        var commands: Set<[String]> = []
        for example in examples {
            let words = try #require(CommandWords.split(example))
            commands.insert(path(words, below: Tokenctl.self))
            #expect(throws: Never.self, "\(example)") {
                _ = try Tokenctl.parseAsRoot(ArgumentForms.expanded(CommandName.completed(words)))
            }
        }
        #expect(Set(leaves(below: Tokenctl.self)).subtracting(commands) == [])
    }

    /// The names of a command and its subcommands at the beginning of some words.
    private func path(_ words: [String], below command: any ParsableCommand.Type) -> [String] {
        guard let name = words.first,
            let next = command.configuration.subcommands.first(where: { $0._commandName == name })
        else { return [] }
        return [name] + path(Array(words.dropFirst()), below: next)
    }

    /// The paths of all commands without subcommands.
    private func leaves(below command: any ParsableCommand.Type) -> [[String]] {
        let subcommands = command.configuration.subcommands
        return subcommands.isEmpty
            ? [[]]
            : subcommands.flatMap { next in
                leaves(below: next).map { [next._commandName] + $0 }
            }
    }

    @Test func `Every variable that the sources read is in ENVIRONMENT`() throws {
        let start = try #require(lines.firstIndex(of: ".Sh ENVIRONMENT"))
        let end = try #require(lines.firstIndex(of: ".Sh FILES"))
        let explained = Set(
            lines[start..<end].filter { $0.hasPrefix(".It Ev ") }
                .flatMap { $0.dropFirst(7).split(separator: " ").filter { $0 != "," }.map(String.init) })
        let folder = Program.packageRoot.appending(path: "Sources")
        let paths = try #require(FileManager.default.enumerator(atPath: folder.path())).compactMap { $0 as? String }
        var read: Set<String> = []
        for path in paths where path.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            read.formUnion(
                text.matches(of: /[vV]ariable\("([A-Z_]+)"\)|"(TOKENKIT_[A-Z0-9_]+)"/).compactMap {
                    ($0.1 ?? $0.2).map(String.init)
                })
        }
        #expect(read.count > 10)
        // Its prefix stands for all of them.
        #expect(read.subtracting(explained) == [])
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
