package import HostAPI
internal import KeychainModel
internal import KeychainStore
internal import Localization
internal import SecureBytes
internal import TokenKit

/// The way to a person's permission for what one client's program does with keys and secrets that another program has unlocked.
package struct Permission: Sendable {
    private let decisions: AccessDecisions
    private let program: AskingProgram
    /// The machine for which the program asks; nil where it asks for itself.
    private let machine: AskingMachine?
    private var prompter: any Prompter
    private var purpose: String?
    /// Whether each request says for itself what it is for, and whether a person may be asked.
    fileprivate let isForRequests: Bool

    /// - Parameters:
    ///   - machine: the machine for which the program asks, whose uses are asked about each time; nil where it asks for itself.
    ///   - prompter: reaches the person by the host's own means: a client does not answer for its program.
    ///   - isForRequests: whether each request says for itself what it is for, and whether a person may be asked. Those of PKCS #11 do
    ///     neither.
    package init(
        _ decisions: AccessDecisions, of program: AskingProgram, for machine: AskingMachine? = nil,
        asking prompter: any Prompter, isForRequests: Bool = true
    ) {
        (self.decisions, self.program, self.machine, self.prompter) = (decisions, program, machine, prompter)
        self.isForRequests = isForRequests
    }

    /// Whether a person may be there to answer.
    var canAsk: Bool { prompter.canConfirm }

    /// The way during a request, with which its question ends.
    ///
    /// - Parameter purpose: what the request is for, as the client says.
    func during(_ ticket: RequestTicket, for purpose: String?, _ journal: ClientJournal) -> Permission {
        var permission = self
        permission.purpose = isForRequests ? purpose : nil
        permission.prompter = TicketPrompter(ticket: ticket, prompter: prompter, journal: journal)
        return permission
    }

    fileprivate var askingNobody: Permission {
        var permission = self
        permission.prompter = NoPrompter()
        return permission
    }

    fileprivate func require(
        _ use: AccessQuestion.Use, of item: AccessItem, checking check: () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        do throws(KeychainError) {
            if let machine {
                try decisions.require(use, of: item, from: machine, by: program, asking: prompter, checking: check)
            } else {
                try decisions.require(use, of: item, for: purpose, by: program, asking: prompter, checking: check)
            }
        } catch {
            // No PIN that the program could give would help.
            throw error.code == .userCanceled ? error : error.failing(.permissionRequired)
        }
    }

    /// Refuses a use that a person has denied the program for ever. A machine's uses are asked about each time.
    fileprivate func refuseDenied(_ use: AccessQuestion.Use, of item: AccessItem) throws(KeychainError) {
        if machine == nil { try decisions.refuseDenied(use, of: item, by: program) }
    }

    /// Changes decisions, as ``AccessDecisions`` does. The person is asked by the host, where the request lets one be asked.
    ///
    /// - Parameter item: makes the item of a reference.
    /// - Returns: the number of decisions that are made or forgotten.
    func change(
        _ change: AccessChange, asking isAsked: Bool, checking check: () throws(KeychainError) -> Void,
        item: (PersistentReference) throws(KeychainError) -> AccessItem
    ) throws(KeychainError) -> Int {
        func programs(_ paths: [String]?) throws(KeychainError) -> [DecidedProgram] {
            guard let paths else { return [.any] }
            return try paths.map { (path) throws(KeychainError) in try program.program(at: path) }
        }
        func items(_ references: [PersistentReference]) throws(KeychainError) -> [AccessItem] {
            try references.map { (reference) throws(KeychainError) in try item(reference) }
        }
        switch change {
        case .allow(let paths, let references):
            let (programs, items) = (try programs(paths), try items(references))
            let prompter = isAsked ? prompter : NoPrompter()
            for item in items {
                try decisions.allow(programs, item, for: program, asking: prompter, checking: check)
            }
            return programs.count * items.count
        case .deny(let paths, let references):
            let (programs, items) = (try programs(paths), try items(references))
            for item in items { decisions.deny(programs, item) }
            return programs.count * items.count
        case .reset(let path, let references):
            let known = path.map(program.formerProgram)
            guard let references else { return try decisions.forget(item: nil, program: known) }
            var count = 0
            for item in try items(references) { count += try decisions.forget(item: item, program: known) }
            return count
        case .replace(let rules, let reference):
            guard rules.count <= AccessRule.maximumCount else {
                throw KeychainError(.param, "there are more than \(AccessRule.maximumCount) rules")
            }
            try decisions.replace(
                with: rules, item(reference), for: program, asking: isAsked ? prompter : NoPrompter(), checking: check)
            return rules.count
        }
    }

    /// The decisions about an item.
    func access(to item: AccessItem) throws(KeychainError) -> ItemAccess { try decisions.access(to: item) }

    /// Whether a person has allowed another machine a use of an item.
    ///
    /// - Parameter machine: its ``RemoteMachine/id``.
    func isAlwaysAllowed(_ use: AccessQuestion.Use, of item: AccessItem, to machine: String) -> Bool {
        decisions.isAlwaysAllowed(use, of: item, to: machine)
    }

    /// Notes that a person has allowed it.
    func allowAlways(_ use: AccessQuestion.Use, of item: AccessItem, to machine: RemoteMachine) {
        decisions.allowAlways(use, of: item, to: machine)
    }

    /// The decisions that end with the host's process.
    var unsaved: [AccessEntry] { decisions.unsaved }

    fileprivate func hasGiven(for place: String) -> Bool { machine == nil && decisions.hasGiven(for: place, program) }

    fileprivate func noteGiven(for place: String) {
        if machine == nil { decisions.noteGiven(for: place, by: program) }
    }

    fileprivate func noteCreated(_ item: AccessItem) {
        if machine == nil { decisions.noteCreated(item, by: program) }
    }
}

extension AuthenticationContext {
    /// Changes decisions on programs, as ``Permission`` does.
    func change(
        _ change: AccessChange, by permission: Permission,
        item: (PersistentReference) throws(KeychainError) -> AccessItem
    ) throws(KeychainError) -> Int {
        try permission.change(change, asking: prompter.canAsk, checking: check, item: item)
    }

    /// The operation with a person's permission to perform it with a PIN that another client has given.
    ///
    /// - Parameters:
    ///   - place: the key's token.
    ///   - name: the token's name, for people.
    /// - Throws: `errSecUserCanceled` where the person refuses; `errSecInteractionNotAllowed` where nobody can be asked.
    func permitted(
        _ operation: TokenOperation, on place: String, named name: String
    ) throws(KeychainError) -> TokenOperation {
        guard let permission, !permission.isForRequests || prompter.canAsk else {
            throw KeychainError(
                .interactionNotAllowed,
                "another program gave the PIN of '\(name)', and nobody can be asked about this one",
                failure: .permissionRequired)
        }
        try permission.require(
            operation.action.use,
            of: AccessItem(operation.key, operation.publicKey, on: place, named: name), checking: check)
        var operation = operation
        operation.isPermitted = true
        return operation
    }

    /// Refuses what a person has denied the program for ever, before anybody is asked for the PIN. A program that gives the PIN itself
    /// needs no permission.
    ///
    /// - Throws: `errSecUserCanceled`.
    func refuseDenied(_ operation: TokenOperation, on place: String, named name: String) throws(KeychainError) {
        guard !hasOwnPIN else { return }
        try permission?.refuseDenied(
            operation.action.use, of: AccessItem(operation.key, operation.publicKey, on: place, named: name))
    }

    /// Has a person allow an operation with a key that needs no PIN, which any program could use otherwise.
    ///
    /// - Throws: `errSecUserCanceled` where the person refuses; `errSecInteractionNotAllowed` where nobody can be asked.
    func requirePermission(
        toPerformWithoutPIN operation: TokenOperation, on place: String, named name: String
    ) throws(KeychainError) {
        try permissionForRequest?.require(
            operation.action.use,
            of: AccessItem(operation.key, operation.publicKey, on: place, named: name), checking: check)
    }
}

extension TokenBackend {
    /// The name of a token in decisions about programs. Another card that calls itself the same is in another reader.
    func accessPlace(of token: String) -> String { "\(token) in \(name)" }
}

// MARK: Keychains in files

extension AuthenticationContext {
    /// Notes that the client's program has given the right PIN or password of a card or keychain itself.
    func noteGiven(for place: String) { permission?.noteGiven(for: place) }

    /// Whether the client's program has given the right PIN or password of a card or keychain itself.
    func hasGiven(for place: String) -> Bool { permission?.hasGiven(for: place) ?? false }

    /// Notes that the client's program has made an item, which it may use from now on.
    func noteCreated(_ item: Item, in keychain: LocalKeychain) {
        guard let permission, item.needsPermission else { return }
        permission.noteCreated(AccessItem(item, in: keychain))
    }

    /// Has a person allow a use of an item that is unlocked. A keychain without a password has nothing that a program of the user could
    /// not have without a question.
    ///
    /// - Throws: `errSecUserCanceled` where the person refuses; `errSecInteractionNotAllowed` where nobody can be asked.
    func requirePermission(
        to use: AccessQuestion.Use, _ item: Item, in keychain: LocalKeychain
    ) throws(KeychainError) {
        guard let permission = permissionForRequest, try keychain.hasPassword else { return }
        try permission.require(use, of: AccessItem(item, in: keychain), checking: check)
    }

    /// The way to a permission, on which nobody is asked where the request wants nobody asked.
    private var permissionForRequest: Permission? {
        permission.map { $0.isForRequests && !prompter.canAsk ? $0.askingNobody : $0 }
    }
}

extension TokenOperation.Action {
    var use: AccessQuestion.Use {
        switch self {
        case .sign: .sign
        case .decrypt: .decrypt
        case .agree: .agree
        }
    }
}
