internal import Glibc
internal import Platform

/// The settings of a terminal, restored after another program has had it.
final class TerminalState {
    private let descriptor: Int32
    private var mode = termios()

    /// Nil where there is no such terminal.
    init?(_ path: String) {
        descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0, unsafe tcgetattr(descriptor, &mode) == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Restores the terminal's settings, if the program ended before it did so.
    ///
    /// A program that has restored the mode has restored the screen as well: nothing is done then.
    func restore() {
        var current = termios()
        guard unsafe tcgetattr(descriptor, &current) == 0,
            (current.c_lflag, current.c_iflag, current.c_oflag) != (mode.c_lflag, mode.c_iflag, mode.c_oflag)
        else { return }
        unsafe tcsetattr(descriptor, TCSAFLUSH, &mode)
        let kind = Environment.variable("TERM") ?? "dumb"
        guard kind != "dumb" else { return }
        _ = unsafe write(descriptor, TerminalState.reset, TerminalState.reset.utf8.count)
    }

    /// Main screen, visible cursor, plain characters, and normal keys (ECMA-48, xterm).
    private static let reset = "\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\u{1B}[?1l\u{1B}>\r\n"
}
