internal import Glibc

extension FirstAvailablePrompter {
    /// Asks through pinentry where there is a desktop or a terminal for it, else on the terminal.
    ///
    /// `PINENTRY_PROGRAM` names another program than `pinentry`.
    ///
    /// - Parameter alternative: as for others.
    public static func standard(alternative: String? = nil) -> FirstAvailablePrompter {
        let program = Directories.environmentVariable("PINENTRY_PROGRAM")
        let terminal = terminalName()
        let hasScreen =
            terminal != nil
            || ["DISPLAY", "WAYLAND_DISPLAY"].contains {
                Directories.environmentVariable($0) != nil
            }
        let pinentry = PinentryPrompter(program: program ?? "pinentry", terminalName: terminal)
        return FirstAvailablePrompter(
            hasScreen || program != nil ? [pinentry, TerminalPrompter()] : [TerminalPrompter()],
            alternative: alternative)
    }

    private static func terminalName() -> String? {
        for descriptor in [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO] {
            if let name = unsafe ttyname(descriptor) { return unsafe String(cString: name) }
        }
        return nil
    }
}
