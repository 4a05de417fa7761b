public import KeychainModel
internal import Localization
internal import SecureBytes

/// An event of a host's journal: a client's use of a key, a password or a login. No field has a secret.
public struct JournalEntry: Sendable, Hashable {
    public enum Action: UInt8, Sendable, CaseIterable {
        case sign = 1
        case encrypt = 2
        case decrypt = 3
        /// Agrees on a key with another one's public key.
        case agree = 4
        /// Reads a password, or another secret of an item.
        case read = 5
        /// Takes a secret key into the host's memory for operations of PKCS #11.
        case use = 6
        case export = 7
        case unlock = 8
        case lock = 9
        case logIn = 10
        case logOut = 11
        case changePIN = 12
        case changeUnblockingKey = 13
        case unblockPIN = 14
        case reset = 15
        /// A person's answer to a question for a PIN, which was refused, so that the question is asked again.
        case answerPIN = 16
        /// As ``answerPIN``, for a password.
        case answerPassword = 17
        /// Makes a key on a card, imports one, or changes another part of its content.
        case administer = 18
        /// Deletes all content of a card.
        case erase = 19
    }

    /// Milliseconds since 1970.
    public let time: Int64
    /// The name of the client's program, as the kernel has it; empty where it cannot be seen.
    public let program: String
    public let process: Int32
    public let action: Action
    /// The label of the key or the item; nil for an action on a whole keychain.
    public let item: String?
    /// The name of the keychain, or of the card's reader; nil for an action on all of them.
    public let keychain: String?
    /// The reason why the action failed; nil for one that was done.
    public let failure: ErrSec?

    public init(
        time: Int64, program: String, process: Int32, _ action: Action, item: String?, keychain: String?,
        failure: ErrSec?
    ) {
        self.time = time
        self.program = program
        self.process = process
        self.action = action
        self.item = item
        self.keychain = keychain
        self.failure = failure
    }

    /// The event in one line, without its time, that any program may print.
    public var line: String {
        let outcome = failure.map { "failed, \(JournalEntry.reason(of: $0))" } ?? "done"
        return DisplayText.line("\(program)[\(process)]: \(action.phrase)\(place): \(outcome)")
    }

    /// The reason of a failure, in English for the programs that read the line. It holds for each failure with the code: `errSecAuthFailed` is
    /// also that of a PIN which was not sent, and `errSecUserCanceled` that of a lasting denial.
    private static func reason(of failure: ErrSec) -> String {
        switch failure {
        case .userCanceled: "it was refused or cancelled"
        case .interactionNotAllowed: "nobody could be asked"
        case .authFailed: "the password or PIN was not accepted"
        default: failure.text.rendered(in: .english)
        }
    }

    private var place: String {
        let keychain = keychain.map { "'\($0)'" } ?? "all keychains"
        return item.map { " '\($0)' of \(keychain)" } ?? " \(keychain)"
    }
}

extension JournalEntry.Action {
    /// The action in words that its object follows.
    fileprivate var phrase: String {
        switch self {
        case .sign: "sign with"
        case .encrypt: "encrypt with"
        case .decrypt: "decrypt with"
        case .agree: "agree on a key with"
        case .read: "read"
        case .use: "use"
        case .export: "export"
        case .unlock: "unlock"
        case .lock: "lock"
        case .logIn: "log in to"
        case .logOut: "log out of"
        case .changePIN: "change the PIN of"
        case .changeUnblockingKey: "change the PUK of"
        case .unblockPIN: "unblock the PIN of"
        case .reset: "reset"
        case .answerPIN: "give a PIN for"
        case .answerPassword: "give a password for"
        case .administer: "change the content of"
        case .erase: "erase"
        }
    }

    /// The action as one word for programs.
    package var name: String { "\(self)" }
}

/// Events of a host's journal.
public struct JournalPage: Sendable, Hashable {
    /// The events, oldest first.
    public let entries: [JournalEntry]
    /// The position after these events.
    public let next: UInt64
    /// Whether events after the position that was asked for are missing, since the journal keeps only the last ones.
    public let isIncomplete: Bool

    public init(_ entries: [JournalEntry], next: UInt64, isIncomplete: Bool = false) {
        self.entries = entries
        self.next = next
        self.isIncomplete = isIncomplete
    }
}
