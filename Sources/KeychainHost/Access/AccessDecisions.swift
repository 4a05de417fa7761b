package import HostAPI
package import KeychainModel
internal import Platform
internal import Synchronization
internal import TokenKit

/// An item whose use a person decides about.
package struct AccessItem: Sendable, Hashable {
    /// A text that no other item of its place has, now or later.
    package let key: String
    /// The name, for people.
    package let name: String
    /// Its card or keychain, whose PIN or password opens it: a text that no other one has, even one that calls itself the same.
    package let place: String
    /// The item among those of all places.
    var keyInPlace: String { "\(place) \(key)" }

    package init(key: String, name: String, in place: String) {
        (self.key, self.name, self.place) = (key, name, place)
    }
}

/// The decisions which program may use which item, one for all clients of a host's process.
///
///     try decisions.require(.sign, of: item, by: program, asking: prompter) { () throws(KeychainError) in try ticket.check() }
///
/// It asks a person where there is no decision yet. No lock is held meanwhile, and no card may be.
package final class AccessDecisions: Sendable {
    private let policy: any AccessPolicy
    /// The administrator's rules, as they are now; nil where there are none that can be read.
    private let rules: @Sendable () -> AccessRules?
    private let patience: Duration
    /// One question at a time is before the person.
    private let turn = QuestionTurn()
    /// The times of denials. A denied question is not asked again for a moment: a program could ask until the person gives in.
    private let denials = Mutex(RecentEntries<Question, ContinuousClock.Instant>(limit: 256))
    private let denialLasts: Duration

    private struct Question: Hashable {
        let asker: Asker
        let use: AccessQuestion.Use
        let item: String
    }

    private enum Asker: Hashable {
        case program(ProgramID)
        /// A program without lasting decisions, in one process.
        case run(ProgramRun)
    }

    /// A permission of one run of a program, which ends with that.
    private struct Grant: Hashable {
        let run: ProgramRun
        let scope: Scope
    }

    private enum Scope: Hashable {
        /// All items of a card or keychain: the program has given its PIN or password.
        case place(String)
        /// All uses of an item: the program has made it.
        case item(String)
        case use(AccessQuestion.Use, item: String)
    }

    private let grants = Mutex(RecentEntries<Grant, Bool>(limit: 4096))

    /// - Parameters:
    ///   - policy: the place of decisions that hold for ever.
    ///   - rules: reads the administrator's rules.
    ///   - patience: the time for an answer.
    ///   - denialLasts: the time for which a denial also answers equal questions, such as those that waited meanwhile.
    package init(
        policy: any AccessPolicy = RememberedAccess(), rules: @escaping @Sendable () -> AccessRules? = { nil },
        patience: Duration = AccessQuestion.standardPatience,
        denialLasts: Duration = .seconds(10)
    ) {
        (self.policy, self.rules) = (policy, rules)
        (self.patience, self.denialLasts) = (patience, denialLasts)
    }

    /// Whether a person has decided something that would be lost with the process.
    package var hasUnsaved: Bool { policy.hasUnsaved }

    /// Returns where the program may use the item, after a question to a person where there is no decision yet.
    ///
    /// - Parameters:
    ///   - purpose: what the use is for, as the program says: a host or a file.
    ///   - prompter: reaches a person by the host's own means. One that asks through the client refuses.
    ///   - check: throws once the request is over; called while another question is before the person.
    /// - Throws: `errSecUserCanceled` for a denial, also by no answer in time; `errSecInteractionNotAllowed` where no person can be asked;
    ///   `errSecRestrictedAPI` where the program cannot be told, or is another one after the answer.
    package func require(
        _ use: AccessQuestion.Use, of item: AccessItem, for purpose: String? = nil, by program: AskingProgram,
        asking prompter: any Prompter,
        checking check: () throws(KeychainError) -> Void = { () throws(KeychainError) in }
    ) throws(KeychainError) {
        let subject = try program.subject()
        if isAllowed(subject, use, item) || rules()?.allow(subject.identity, of: program.user) == true { return }
        guard prompter.canConfirm else { throw .cannotDecide(question(use, item, purpose, subject)) }
        try check()
        try turn.take(checking: check) { _ throws(KeychainError) in
            // A question before this one may have been the same.
            let subject = try program.subject()
            if isAllowed(subject, use, item) { return }
            let question = question(use, item, purpose, subject)
            let key = Question(
                asker: subject.lasting.map(Asker.program) ?? .run(subject.run), use: use, item: item.keyInPlace)
            if let denial = denials.withLock({ $0[key] }), denial.duration(to: .now) < denialLasts {
                throw AccessDecisions.denied(question)
            }
            let decision = try prompter.decide(question)
            if decision == .deny { denials.withLock { $0[key] = .now } }
            try take(decision, on: question, subject, item, of: program)
        }
    }

    private func isAllowed(_ subject: AccessSubject, _ use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
        if let lasting = subject.lasting, policy.allows(lasting, to: use, item) { return true }
        return has(subject, any: [.place(item.place), .item(item.keyInPlace), .use(use, item: item.keyInPlace)])
    }

    private func has(_ subject: AccessSubject, any scopes: [Scope]) -> Bool {
        grants.withLock { grants in
            subject.runs.contains { run in scopes.contains { grants[Grant(run: run, scope: $0)] != nil } }
        }
    }

    private func grant(_ scope: Scope, to subject: AccessSubject) {
        grants.withLock { $0[Grant(run: subject.run, scope: scope)] = true }
    }

    // MARK: Programs that need no question

    /// Notes that a program has given the right PIN or password itself: it may use everything there until its process ends, since the
    /// person typed it for this program.
    package func noteGiven(for place: String, by program: AskingProgram) {
        if let subject = try? program.subject() { grant(.place(place), to: subject) }
    }

    /// Whether a program has given the right PIN or password itself.
    func hasGiven(for place: String, _ program: AskingProgram) -> Bool {
        (try? program.subject()).map { has($0, any: [.place(place)]) } ?? false
    }

    /// Notes that a program has made an item, all uses of which it is allowed.
    package func noteCreated(_ item: AccessItem, by program: AskingProgram) {
        guard let subject = try? program.subject() else { return }
        if let lasting = subject.lasting {
            policy.allow(lasting, to: nil, item)
        } else {
            grant(.item(item.keyInPlace), to: subject)
        }
    }

    // MARK: Questions

    private func question(
        _ use: AccessQuestion.Use, _ item: AccessItem, _ purpose: String?, _ subject: AccessSubject
    ) -> AccessQuestion {
        let identity = subject.identity
        var hasChanged = false
        if let id = identity.id, let path = AccessDecisions.ownPath(of: identity),
            let former = policy.programAllowed(at: path)
        {
            hasChanged = former != id
        }
        let described = AccessQuestion.Program(
            name: identity.name, path: identity.path, script: identity.script, container: identity.container?.words,
            starter: identity.starter)
        return AccessQuestion(
            use, of: item.name, by: described, for: purpose, offersAlways: subject.mayBeAllowedAlways,
            hasChanged: hasChanged, patience: patience)
    }

    private func take(
        _ decision: AccessDecision, on question: AccessQuestion, _ subject: AccessSubject, _ item: AccessItem,
        of program: AskingProgram
    ) throws(KeychainError) {
        guard decision != .deny else { throw AccessDecisions.denied(question) }
        let (identity, now) = (subject.identity, try program.identity())
        guard now.run == identity.run, now.id == identity.id else {
            throw KeychainError(
                .restrictedAPI, "the file of '\(question.program.name)' was changed while a person was asked about it")
        }
        if let id = identity.id, let path = AccessDecisions.ownPath(of: identity) { policy.noteAllowed(id, at: path) }
        guard decision == .allowAlways, question.offersAlways else { return }
        if let lasting = subject.lasting {
            policy.allow(lasting, to: question.use, item)
        } else {
            grant(.use(question.use, item: item.keyInPlace), to: subject)
        }
    }

    /// The path of the program's file where it means this system's; nil in a container with files of its own.
    private static func ownPath(of identity: ProgramIdentity) -> String? {
        identity.container == nil ? identity.path : nil
    }

    private static func denied(_ question: AccessQuestion) -> KeychainError {
        KeychainError(
            .userCanceled,
            "'\(question.program.name)' was not allowed to \(question.use.wordsBeforeItem) '\(question.item)'")
    }
}

extension ProgramContainer {
    fileprivate var words: String {
        switch self {
        case .flatpak(let id): "a sandbox that calls itself Flatpak's \(id)"
        case .snap(let name): "a sandbox that calls itself the snap \(name)"
        case .other: "a container with files of its own"
        }
    }
}
