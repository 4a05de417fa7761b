import Foundation
import TestSupport
import Testing

/// An invisible screen with a keyboard.
final class Desktop: Sendable {
    private let server: ServerProcess

    init(in folder: TemporaryFolder) throws {
        server = try ServerProcess(
            ["Xvfb", "-displayfd", "1", "-screen", "0", "1000x700x24", "-nolisten", "tcp"], environment: [:],
            ready: "([0-9]+)\n", in: folder)
    }

    /// The environment of programs that appear on this screen.
    var environment: [String: String] { ["DISPLAY": ":\(server.greeting)"] }

    /// Answers a dialog as a person does: types a line into it, and waits until the dialog is gone.
    func type(_ line: String, into title: String, at location: SourceLocation = #_sourceLocation) throws {
        var window: String?
        eventually {
            window = self.window(title)
            return window != nil
        }
        var answered = try #require(window, "no window \(title)", sourceLocation: location)
        // A window may be there before it takes keys. The PIN that it gets is too short then, and it asks again.
        for _ in 0..<5 {
            _ = try xdotool("windowfocus", "--sync", answered, "key", "--clearmodifiers", "ctrl+a")
            _ = try xdotool("type", line)
            _ = try xdotool("key", "Return")
            if eventually(within: 4, { self.window(title) != answered }) {
                guard let next = self.window(title) else { return }
                answered = next
            }
        }
        Issue.record("\(title) does not go away", sourceLocation: location)
    }

    /// Whether there is a window with a title.
    func shows(_ title: String) -> Bool { window(title) != nil }

    /// The number of the window with a title.
    private func window(_ title: String) -> String? {
        let found = try? xdotool("search", "--onlyvisible", "--name", "^\(title)")
        return found?.text.split(separator: "\n").first.map(String.init)
    }

    private func xdotool(_ arguments: String...) throws -> ProgramResult {
        try Program.run(["xdotool"] + arguments, environment: environment)
    }
}
