internal import Platform

extension FirstAvailablePrompter {
    /// Asks through pinentry where there is a desktop or a terminal for it, else on the terminal; nobody in a process that has more
    /// rights than who started it, who chooses the terminal and the program.
    ///
    /// `PINENTRY_PROGRAM` names another program than `pinentry`.
    ///
    /// - Parameters:
    ///   - alternative: as for others.
    ///   - place: where the person is.
    public static func standard(
        alternative: String? = nil, at place: PromptPlace = .ofProcess
    ) -> FirstAvailablePrompter {
        guard !Environment.isUntrusted else { return FirstAvailablePrompter([], alternative: alternative) }
        let program = place.variable("PINENTRY_PROGRAM")
        let hasScreen =
            place.terminal != nil || ["DISPLAY", "WAYLAND_DISPLAY"].contains { place.variable($0) != nil }
        let pinentry = PinentryPrompter(program: program ?? "pinentry", at: place)
        let terminal = TerminalPrompter(at: place)
        return FirstAvailablePrompter(
            hasScreen || program != nil ? [pinentry, terminal] : [terminal], alternative: alternative)
    }
}
