import ArgumentParser
import Testing

@testable import tokenctl

/// A command that is parsed without the others, as most are.
@Suite struct LoneCommandTests {
    @Test(arguments: [
        ["sign", "--key", "9A", "-o", "signature", "file"],
        ["find-generic-password", "-a", "anna", "-s", "mail", "-w"],
        ["card", "pin", "status", "--json"], ["access"], ["access", "deny", "/usr/bin/true", "mail"],
        ["error", "-25300"],
        ["sign"], ["sign", "--frob"], ["sign", "--help"], ["help", "sign"], ["card", "pin", "--help"],
        ["card", "frob"],
        ["access", "reset"], ["virtual-card", "run", "card", "--delay", "-1"], ["--version"], ["--help"],
        ["sign", "--generate-completion-script", "bash"], ["frob"], [],
    ])
    func `It is the one that the parser finds among all, and so is what is said of a mistake`(_ arguments: [String]) {
        func outcome(_ parse: ([String]) throws -> any ParsableCommand) -> String {
            do { return "\(try parse(arguments))" } catch { return Tokenctl.fullMessage(for: error) }
        }
        #expect(outcome { try Tokenctl.command(in: $0) } == outcome { try Tokenctl.parseAsRoot($0) })
    }
}
