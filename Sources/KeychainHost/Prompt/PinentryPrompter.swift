internal import Glibc
public import TokenKit

/// Asks through a pinentry program, as GnuPG does: a window on the desktop, or the terminal.
public struct PinentryPrompter: Prompter {
    private let program: String
    private let terminalName: String?

    /// - Parameters:
    ///   - program: a path, or a name to be looked up in `PATH`.
    ///   - terminalName: the terminal to use where there is no desktop.
    public init(program: String = "pinentry", terminalName: String? = nil) {
        self.program = program
        self.terminalName = terminalName
    }

    public var canAsk: Bool {
        guard let assuan = try? begin() else { return false }
        assuan.end()
        return true
    }

    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        let assuan = try begin()
        defer { assuan.end() }
        try assuan.command("SETTITLE", "tokenctl")
        try assuan.command("SETDESC", request.sentence)
        try assuan.command("SETPROMPT", "\(request.field):")
        if let failure = request.failure { try assuan.command("SETERROR", failure) }
        if request.wantsRepetition {
            try assuan.command("SETREPEAT", "again:")
            try assuan.command("SETREPEATERROR", "they differ")
        }
        return try assuan.secret("GETPIN")
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        let assuan = try begin()
        defer { assuan.end() }
        try assuan.command("SETTITLE", "tokenctl")
        try assuan.command("SETDESC", question)
        do {
            try assuan.command("CONFIRM")
            return true
        } catch  where error.code == .userCanceled {
            return false
        }
    }

    private func begin() throws(KeychainError) -> AssuanClient {
        let assuan = try AssuanClient(program: program)
        if let terminalName { try? assuan.command("OPTION", "ttyname=\(terminalName)") }
        for (option, variable) in [("ttytype", "TERM"), ("lc-ctype", "LC_CTYPE"), ("display", "DISPLAY")] {
            guard let value = unsafe getenv(variable) else { continue }
            // An option that a pinentry does not know is no reason not to ask.
            try? assuan.command("OPTION", unsafe "\(option)=\(String(cString: value))")
        }
        return assuan
    }
}
