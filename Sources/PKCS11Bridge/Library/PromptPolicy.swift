package import HostAPI

/// The treatment of PINs and logins that depends on the program.
package struct PromptPolicy: Sendable {
    /// Whether the module asks for PINs itself, and hides from the program that a login is needed, or that a key wants one each
    /// time. For programs that cannot ask at the right moment, such as `ssh-agent`.
    package let asksItself: Bool

    /// The prompter for logins without a PIN, and for the module's own questions; nil where only the keys of a reader may be used.
    package let prompter: (any Prompter)?

    /// Tells a person to touch the card, also where the program asks for PINs itself.
    package let touchPrompter: (any Prompter)?

    /// Whether only the first token of the list says that it wants a login. For programs that have one password, and give up at a
    /// second token.
    let logsInOnce: Bool

    /// Whether the program's user may change cards as their administrator. For programs that know no security officer, such as `keytool`.
    let administersCards: Bool

    /// Whether the program runs on another machine. It gives no PIN, since the person at the host is asked, and changes no token.
    let isRemote: Bool

    /// The name of the program, for prompts; nil where it is unknown.
    let program: String?

    package init(
        asksItself: Bool = false, logsInOnce: Bool = false, administersCards: Bool = false,
        isRemote: Bool = false, program: String? = nil,
        prompter: (any Prompter)? = nil, touchPrompter: (any Prompter)? = nil
    ) {
        self.program = program
        self.asksItself = asksItself
        self.logsInOnce = logsInOnce
        self.administersCards = administersCards
        self.isRemote = isRemote
        self.prompter = prompter
        self.touchPrompter = touchPrompter ?? prompter
    }

    /// poppler's program ends with "Password was not accepted" when NSS asks it for a second token's password.
    private static let programsThatLogInOnce: Set = ["pdfsig"]

    /// - Parameters:
    ///   - variable: the value of `TOKENKIT_PKCS11_PROMPT`: `never`, or the names of programs for which the module asks itself,
    ///     with commas between. There is no name for all programs, since some crash where no login is needed, and others ask as
    ///     well.
    ///   - administrators: the value of `TOKENKIT_PKCS11_ADMINISTER`: the names of programs whose users change cards, with commas between.
    ///   - program: the name of this program.
    ///   - prompter: asks a person.
    ///   - isShared: whether the host is the session's, which asks once for all programs. Programs may then leave the question to it,
    ///     unless the value is `never`.
    ///   - mayAdminister: whether root has the program's user change cards, whatever `administrators` says.
    package init(
        variable: String?, administrators: String? = nil, program: String, prompter: any Prompter,
        isShared: Bool = false, mayAdminister: Bool = false
    ) {
        let words = PromptPolicy.words(of: variable)
        let asks = words.contains(program)
        let isForbidden = words.contains("never")
        let asksAtAll = !isForbidden && (isShared || !words.isEmpty)
        self.init(
            asksItself: asks, logsInOnce: PromptPolicy.programsThatLogInOnce.contains(program),
            administersCards: mayAdminister || PromptPolicy.words(of: administrators).contains(program),
            program: program.isEmpty ? nil : program,
            prompter: asksAtAll ? prompter : nil, touchPrompter: isForbidden ? nil : prompter)
    }

    /// The policy for a program on another machine, whose settings do not count here.
    ///
    /// - Parameters:
    ///   - machine: the machine, for prompts.
    ///   - prompter: asks the person at the host.
    package init(forProgramsOn machine: String, prompter: any Prompter) {
        self.init(isRemote: true, program: machine, prompter: prompter)
    }

    private static func words(of variable: String?) -> Set<String> {
        Set((variable ?? "").split(separator: ",").map(String.init))
    }

    /// The purpose of a PIN or password, in words that complete "PIN to …".
    func use(_ action: String) -> String { program.map { "\(action) for '\($0)'" } ?? action }
}
