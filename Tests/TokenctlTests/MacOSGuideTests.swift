import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import tokenctl

/// The table of macOS's verbs in Documentation.
@Suite struct MacOSGuideTests {
    @Test func saysOfEachVerbWhetherItIsThere() throws {
        let page = try String(
            contentsOf: Program.packageRoot.appending(path: "Documentation/guides/macos.md"), encoding: .utf8)
        let sections = page.split(separator: "\n## ").map { String($0) }
        func verbs(_ title: String) throws -> Set<String> {
            let section = try #require(sections.first { $0.hasPrefix(title) })
            let cells = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
                .map { $0.split(separator: "|", omittingEmptySubsequences: true)[0] }
            let text = title == "Beyond" ? section[...] : cells.joined(separator: " ")[...]
            return Set(text.matches(of: /`([a-z-]+)`/).map { String($0.1) })
        }
        let commands = Set(Tokenctl.configuration.subcommands.compactMap { $0.configuration.commandName }).union([
            "help"
        ])
        let (same, beyond) = (try verbs("The same"), try verbs("Beyond").subtracting(["tokenctl"]))
        #expect(same.union(beyond) == commands)
        #expect(same.isDisjoint(with: beyond))
        #expect(try verbs("Accepted") == Set(MissingCommand.needless))
        #expect(try verbs("Missing") == Set(MissingCommand.reasons.keys))
    }
}
