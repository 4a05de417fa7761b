/// Programs that run other programs' text: what they do is not told by their file.
package enum Interpreter {
    /// Beginnings of names, as `python` of `python3.11`. Other names that begin so count as interpreters too, which is the safe error.
    private static let prefixes = [
        "python", "pypy", "perl", "ruby", "php", "lua", "guile", "tclsh", "wish", "java", "node", "ksh", "wine",
        "qemu-",
        "ld-linux", "ld-musl", "ld.so", "ld-2.", "mono", "dotnet", "ghci", "ipython", "emacs", "electron", "erl",
        "elixir", "julia",
        "octave", "busybox", "toybox",
    ]
    private static let names: Set = [
        "sh", "bash", "rbash", "dash", "zsh", "ash", "mksh", "fish", "csh", "tcsh", "nu", "pwsh", "xonsh", "osh",
        "deno", "bun", "gjs", "qjs", "awk", "gawk", "mawk", "expect", "R", "Rscript", "beam.smp", "racket", "sbcl",
        "clisp", "scala", "groovy", "gdb", "lldb", "strace", "vim", "nvim", "make", "env", "systemd-run", "swipl",
        "ocaml",
    ]

    package static func isOne(_ name: String) -> Bool {
        names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }

    /// The script, module or archive that an interpreter was started with, as its arguments tell it. The process can change them.
    ///
    /// - Parameter commandLine: `cmdline` of proc(5).
    /// - Returns: nil without one: text given as an argument, or typed.
    static func script(_ commandLine: [UInt8]) -> String? {
        let arguments = commandLine.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.dropFirst()
        var rest = arguments
        while let argument = rest.popFirst() {
            switch argument {
            case "-m", "-jar": return rest.first
            case "-c", "-e", "-E", "-p", "--eval", "--print": return nil
            case _ where argument.hasPrefix("-"): continue
            default: return argument
            }
        }
        return nil
    }
}
