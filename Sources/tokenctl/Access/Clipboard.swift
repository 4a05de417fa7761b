internal import Localization
internal import Platform
internal import SecureBytes

/// The clipboard of a desktop, which has a secret for a time.
///
/// A program owns the clipboard's content as long as it runs, and ends by itself once another one has taken the clipboard. The end of
/// its time takes the secret away.
enum Clipboard {
    /// The time within which a program ends that finds no display.
    private static let start: Duration = .milliseconds(300)

    private static let owners: [(variable: String, program: String, arguments: [String])] = [
        ("WAYLAND_DISPLAY", "wl-copy", ["--foreground", "--type", "text/plain"]),
        ("DISPLAY", "xclip", ["-quiet", "-selection", "clipboard"]),
        ("DISPLAY", "xsel", ["--clipboard", "--input", "--nodetach"]),
    ]

    /// Gives the clipboard a secret for some seconds.
    ///
    /// - Throws: ``CommandError`` where there is no desktop, or no program for its clipboard.
    static func hold(_ secret: borrowing Secret, for seconds: Int) throws {
        let displays = owners.filter { Environment.variable($0.variable)?.isEmpty == false }
        guard !displays.isEmpty else {
            throw CommandError(
                "there is no clipboard", "neither WAYLAND_DISPLAY nor DISPLAY is set", advice: "use --show")
        }
        guard let owner = displays.first(where: { HelperProgram($0.program) != nil }),
            let timeout = HelperProgram("timeout")
        else {
            let package = displays[0].variable == "DISPLAY" ? "xclip" : "wl-clipboard"
            throw CommandError("no program for the clipboard is installed", advice: "apt install \(package)")
        }
        do {
            try timeout.startDetached(
                ["\(seconds)", owner.program] + owner.arguments, sending: secret, toStartWithin: start)
        } catch is CommandError {
            throw CommandError("the clipboard was not changed", "\(owner.program) has failed", advice: "use --show")
        }
    }
}
