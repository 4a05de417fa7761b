internal import CSecKeychain
internal import CThinClient

typealias ResultCode = OSStatus

/// The C library as a client of the host: what the sources in ThinClient do not know of it.
enum Client {
    static let logName: StaticString = "tokenkit["
    /// Between the name of a function and its result.
    static let nameEnd: StaticString = ": "

    static let hostFailed = OSStatus(errSecNotAvailable)
    static let noDescriptor = OSStatus(errSecAllocate)
    static let tooLong = OSStatus(errSecDataTooLarge)
    static let notInitialised = OSStatus(errSecNotAvailable)

    static let helloKind = FrameHeader.Kind.keychainHello
    static let usesRemoteHost = false
    static let version = KeychainHello.version

    static func hello(firstHandle _: UInt64, environment: [[UInt8]]) -> [UInt8] {
        KeychainHello(
            wantsNotes: unsafe Log.path != nil, hasMoreRights: tokenkit_is_privileged() != 0, environment: environment
        ).encoded()
    }

    /// A program that asks for a keychain needs a host.
    static func requireNeed() throws(Failure) {}

    static func trusts(_ path: UnsafePointer<CChar>) -> Bool { unsafe tokenkit_is_own(path) != 0 }

    /// Whether a call fails that finds the host gone: with the host, the program has lost what it unlocked.
    static let reportsLostHost = true

    static func connectionHasClosed(_ index: Int32) {}
    static func forget() {}

    /// The present initialisation, which the first call of a process begins, and of a child by `fork`.
    ///
    /// A host serves a program with the rights that it connected with. A program that gives them up has another host.
    static var initialisation: UInt64 {
        while true {
            if let present = Initialisation.current {
                let (served, rights) = (tokenkit_load(rightsWord), UInt64(geteuid()) << 32 | UInt64(getegid()))
                if served != rights, tokenkit_replace(rightsWord, served, rights) != 0 { Host.drop(Host.number) }
                return present
            }
            tokenkit_read_log_path()
            _ = Initialisation.begin()
        }
    }

    /// Whether people may be asked, which the program can forbid.
    static var allowsQuestions: Bool {
        get { tokenkit_load(silenceWord) == 0 }
        set { tokenkit_store(silenceWord, newValue ? 0 : 1) }
    }

    private static var rightsWord: Int32 { Int32(tokenkit_word_own) }
    private static var silenceWord: Int32 { Int32(tokenkit_word_own) + 1 }
}

let argumentsBad = Failure(OSStatus(errSecParam))

extension Failure {
    init(_ code: Int, _ reason: StaticString = "") { self.init(OSStatus(code), reason) }
}

/// Runs a function's body, logs a failure, and gives C the result code.
///
/// The thread cannot be cancelled meanwhile, since its connection, or the search for a host, would stay taken for ever.
///
/// - Parameter name: the function that the program called, for the log.
func perform(
    _ name: StaticString = #function, _ body: (inout CallContext) throws(Failure) -> Void
) -> OSStatus {
    let wasCancelable = tokenkit_set_cancelable(0)
    defer { _ = tokenkit_set_cancelable(wasCancelable) }
    var context = CallContext(initialisation: Client.initialisation, log: Log(name))
    do throws(Failure) {
        try body(&context)
        return OSStatus(errSecSuccess)
    } catch {
        context.log.note(error)
        return error.code
    }
}

extension Log {
    /// Writes the host's words: lines about gaps in the answer, and the reason of a failure.
    mutating func note(_ answer: KeychainAnswer) {
        guard let path = unsafe Log.path else { return }
        for note in answer.notes { unsafe write(to: path, isLast: false) { $0.append(printable: note) } }
        guard answer.code != 0, !answer.reason.isEmpty else { return }
        unsafe write(to: path, isLast: true) { $0.append(printable: answer.reason) }
        isAnswered = true
    }

    /// Writes the reason of a failure, unless the host's words have it.
    func note(_ failure: Failure) {
        guard !isAnswered, let path = unsafe Log.path else { return }
        unsafe write(to: path, isLast: true) { line in
            if failure.reason.utf8CodeUnitCount > 0 {
                line.append(failure.reason)
            } else if let message = unsafe tokenkit_keychain_message(failure.code) {
                line += unsafe [UInt8](text: message)
            }
            guard let name = unsafe tokenkit_code_name(failure.code) else { return }
            line.append(" [")
            line += unsafe [UInt8](text: name)
            line.append(" -")
            line.append(decimal: UInt64(failure.code.magnitude))
            line.append("]")
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(printable text: [UInt8]) {
        for byte in text where byte >= 0x20 { append(byte) }
    }
}
