internal import Glibc
internal import Platform

/// The place where a person can be asked: the terminal, the display and the language of a program.
public struct PromptPlace: Sendable {
    /// The path of the terminal; nil for none.
    let terminal: String?

    /// The name of the program that wants the answer.
    let program: String

    /// Whether the program is in the foreground of its terminal, so that the person looks there.
    let isAtTerminal: Bool

    /// The variables of the program's environment; nil for this process, which reads its own.
    private let variables: [String: String]?

    /// - Parameters:
    ///   - terminal: its path.
    ///   - process: the process of the program that wants the answer.
    ///   - variables: of an environment; nil for this process's.
    ///   - isAtTerminal: whether the program is in the foreground of its terminal; by default where there is one.
    package init(
        terminal: String?, process: Int32 = getpid(), variables: [String: String]? = nil, isAtTerminal: Bool? = nil
    ) {
        program = Executable.name(of: process)
        self.terminal = terminal
        self.isAtTerminal = isAtTerminal ?? (terminal != nil)
        self.variables = variables
    }

    /// The place of another process.
    ///
    /// - Parameters:
    ///   - process: the process, whose controlling terminal is looked up.
    ///   - variables: of its environment.
    package init(process: Int32, variables: [String: String]) {
        let (terminal, isInForeground) = PromptPlace.terminal(of: process)
        self.init(terminal: terminal, process: process, variables: variables, isAtTerminal: isInForeground)
    }

    /// The place for a question about another process, which is not to answer it itself: the pinentry and the display of this process. The
    /// other one's display and terminal count only where this process has no display. Other variables of it could have pinentry load code.
    package init(about process: Int32, variables: [String: String]) {
        var own = Environment.ofPerson
        own[PinentryPrompter.variable] = Environment.variable(PinentryPrompter.variable)
        let hasDisplay = PromptPlace.displays.contains { own[$0]?.isEmpty == false }
        if !hasDisplay { for name in PromptPlace.displays + ["XAUTHORITY"] { own[name] = variables[name] } }
        for name in ["TERM", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"] { own[name] = variables[name] ?? own[name] }
        let (terminal, isInForeground) = hasDisplay ? (nil, false) : PromptPlace.terminal(of: process)
        self.init(terminal: terminal, process: process, variables: own, isAtTerminal: isInForeground)
    }

    private static let displays = ["DISPLAY", "WAYLAND_DISPLAY"]

    /// The place of this process. Its terminal has a name only where one of the standard streams is a terminal.
    public static var ofProcess: PromptPlace {
        for descriptor in [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO] {
            if let name = unsafe ttyname(descriptor) {
                return PromptPlace(terminal: unsafe String(cString: name), variables: nil)
            }
        }
        return PromptPlace(terminal: nil, isAtTerminal: terminal(of: getpid()).isInForeground)
    }

    /// The terminal's path for a prompt of this process's own, without pinentry.
    var terminalToOpen: String? { variables == nil ? "/dev/tty" : terminal }

    /// The value of a variable; nil for one that is empty.
    func variable(_ name: String) -> String? {
        let value = variables.map { $0[name] } ?? Environment.variable(name)
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether there is a desktop for windows.
    var hasDisplay: Bool { PromptPlace.displays.contains { variable($0) != nil } }

    /// The environment of a program that asks there, such as pinentry: this process's own environment is not passed on,
    /// since it may have secrets.
    var environment: [String: String] {
        let ofPerson = variables.map { $0.filter { Environment.isOfPerson($0.key) } } ?? Environment.ofPerson
        return ofPerson.merging(["PATH": Environment.standardPath]) { $1 }
    }

    /// The controlling terminal of a process, and whether the process's group is the one in its foreground.
    static func terminal(of process: Int32) -> (path: String?, isInForeground: Bool) {
        guard let status = ProcessStatus(of: process), status.terminal != 0 else { return (nil, false) }
        let device = status.terminal
        return (
            path(major: device >> 8 & 0xFFF, minor: device & 0xFF | device >> 12 & 0xFFF00),
            status.group == status.foregroundGroup
        )
    }

    /// The file of a terminal's device: Linux's list of allocated devices.
    static func path(major: UInt32, minor: UInt32) -> String? {
        switch (major, minor) {
        case (136...143, _): "/dev/pts/\((major - 136) << 8 + minor)"
        case (4, 0..<64): "/dev/tty\(minor)"
        case (4, _): "/dev/ttyS\(minor - 64)"
        default: nil
        }
    }
}
