internal import HostAPI
internal import Glibc
internal import Localization
internal import Platform

extension FirstAvailablePrompter {
    /// Asks through pinentry where there is a desktop or a terminal for it, else on the terminal. In a process that has
    /// more rights than its caller, who chooses terminal and program, every question fails.
    ///
    /// `PINENTRY_PROGRAM` names another program than `pinentry`.
    ///
    /// - Parameters:
    ///   - alternative: as ``init(_:alternative:)`` takes it.
    ///   - place: where the person is.
    public static func standard(
        alternative: String? = nil, at place: PromptPlace = .ofProcess
    ) -> FirstAvailablePrompter {
        guard !Environment.isUntrusted else { return FirstAvailablePrompter([], alternative: alternative) }
        let program = place.variable(PinentryPrompter.variable)
        let hasScreen = place.terminal != nil || place.hasDisplay
        let pinentry = PinentryPrompter(program: program ?? "pinentry", at: place)
        let terminal = TerminalPrompter(at: place)
        return FirstAvailablePrompter(
            hasScreen || program != nil ? [pinentry, terminal] : [terminal], alternative: alternative)
    }
}

extension PinentryPrompter {
    static let variable = "PINENTRY_PROGRAM"

    /// The reason why the program that `PINENTRY_PROGRAM` names cannot be used, as a sentence; nil where it can, or none is named.
    ///
    /// - Parameter place: as for ``FirstAvailablePrompter/standard(alternative:at:)``.
    public static func defectOfChoice(at place: PromptPlace = .ofProcess) -> String? {
        guard !Environment.isUntrusted, let program = place.variable(variable), Environment.program(program) == nil
        else { return nil }
        let defect: LocalizedText =
            switch program {
            case _ where !program.contains("/"): "\(variable) is '\(program)', which no folder of PATH has"
            case _ where !program.hasPrefix("/"): "\(variable) is '\(program)', which is not a path from the root on"
            case _ where unsafe access(program, F_OK) != 0: "\(variable) is '\(program)', which is not there"
            default: "\(variable) is '\(program)', which is not a program that can be run"
            }
        return String(localized: defect)
    }
}
