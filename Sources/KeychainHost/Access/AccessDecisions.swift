package import HostAPI
package import KeychainModel
internal import Localization
internal import Platform
package import Settings
internal import Synchronization
internal import TokenKit

/// The decisions which program may use which item, one for all clients of a host's process.
///
///     try decisions.require(.sign, of: item, by: program, asking: prompter) { () throws(KeychainError) in try ticket.check() }
///
/// It asks a person where there is no decision yet. No lock is held meanwhile, and no card may be.
package final class AccessDecisions: Sendable {
    let policy: any AccessPolicy
    /// The administrator's rules, as they are now; nil where there are none that can be read.
    private let rules: @Sendable () -> AccessRules?
    let patience: Duration
    /// One question at a time is before the person.
    let turn = QuestionTurn()
    /// The times of denials. A denied question is not asked again for a moment: a program could ask until the person gives in.
    private let denials = Mutex(RecentEntries<Question, ContinuousClock.Instant>(limit: 256))
    private let denialLasts: Duration

    struct Question: Hashable {
        let asker: Asker
        let use: AccessQuestion.Use
        let item: String
    }

    enum Asker: Hashable {
        case program(ProgramID)
        /// A program without lasting decisions, in one process.
        case run(ProgramRun)
        /// A machine to which a program of one process leads.
        case machine(ProgramRun)
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
    /// - Throws: `errSecUserCanceled` for a denial, also one that lasts, and by no answer in time; `errSecInteractionNotAllowed` where no person can be asked;
    ///   `errSecRestrictedAPI` where the program cannot be told, or is another one after the answer.
    package func require(
        _ use: AccessQuestion.Use, of item: AccessItem, for purpose: String? = nil, by program: AskingProgram,
        asking prompter: any Prompter,
        checking check: () throws(KeychainError) -> Void = { () throws(KeychainError) in }
    ) throws(KeychainError) {
        let subject = try program.subject()
        if try isAllowed(subject, use, item) || rules()?.gives(.allow, to: subject.identity, of: program.user) == true {
            return
        }
        guard prompter.canConfirm else { throw .cannotDecide(question(use, item, purpose, subject)) }
        try check()
        try turn.take(checking: check) { _ throws(KeychainError) in
            // A question before this one may have been the same.
            let subject = try program.subject()
            if try isAllowed(subject, use, item) { return }
            let question = question(use, item, purpose, subject)
            let key = Question(
                asker: subject.lasting.map(Asker.program) ?? .run(subject.run), use: use, item: item.keyInPlace)
            try take(decision(on: question, key, asking: prompter), on: question, subject, item, of: program)
        }
    }

    /// - Throws: `errSecUserCanceled` for a use that a person has denied for ever. Nobody is asked.
    func refuseDenied(_ use: AccessQuestion.Use, of item: AccessItem, by program: AskingProgram) throws(KeychainError) {
        let subject = try program.subject()
        guard policy.decision(on: subject.lasting, to: use, item) == false else { return }
        throw denial(of: question(use, item, nil, subject))
    }

    private func denial(of question: AccessQuestion) -> KeychainError {
        AccessDecisions.denied(question, remedy: "tokenctl access lists such decisions, and resets them")
    }

    /// The person's decision. A denied question is not asked again for a moment.
    func decision(
        on question: AccessQuestion, _ key: Question, asking prompter: any Prompter
    ) throws(KeychainError) -> AccessDecision {
        if let denial = denials.withLock({ $0[key] }), denial.duration(to: .now) < denialLasts {
            throw AccessDecisions.denied(question)
        }
        let decision = try prompter.decide(question)
        if decision == .deny { denials.withLock { $0[key] = .now } }
        return decision
    }

    /// - Throws: `errSecUserCanceled` where a person has denied it for ever, which goes before all else.
    private func isAllowed(
        _ subject: AccessSubject, _ use: AccessQuestion.Use, _ item: AccessItem
    ) throws(KeychainError) -> Bool {
        switch policy.decision(on: subject.lasting, to: use, item) {
        case true?: return true
        case false?:
            throw denial(of: question(use, item, nil, subject))
        case nil: break
        }
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
        if let lasting = subject.decidedProgram { policy.decide(true, lasting, to: nil, item) }
        grant(.item(item.keyInPlace), to: subject)
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
        return AccessQuestion(
            use, of: item.name, by: AccessQuestion.Program(identity), for: purpose,
            offersAlways: subject.mayBeAllowedAlways,
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
        if let lasting = subject.decidedProgram {
            policy.decide(true, lasting, to: question.use, item)
        } else {
            grant(.use(question.use, item: item.keyInPlace), to: subject)
        }
    }

    /// The path of the program's file where it means this system's; nil in a container with files of its own.
    private static func ownPath(of identity: ProgramIdentity) -> String? {
        identity.container == nil ? identity.path : nil
    }

    static func denied(_ question: AccessQuestion, remedy: LocalizedText? = nil) -> KeychainError {
        KeychainError(
            .userCanceled,
            "'\(question.program.name)' was not allowed to \(question.use.words(with: question.item))",
            remedy: remedy)
    }

    // MARK: Decisions ahead of uses

    /// The decisions that end with the host's process.
    package var unsaved: [AccessEntry] { policy.unsaved }

    /// Has programs use an item in each way from now on, once a person has agreed for each of them. None is asked about an item that the
    /// asking program has made itself.
    ///
    /// - Throws: `errSecUserCanceled`, `errSecInteractionNotAllowed` and `errSecRestrictedAPI` as ``require(_:of:for:by:asking:checking:)``.
    func allow(
        _ programs: [DecidedProgram], _ item: AccessItem, for asking: AskingProgram, asking prompter: any Prompter,
        checking check: () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        let subject = try asking.subject()
        if !has(subject, any: [.item(item.keyInPlace)]) {
            for program in programs { try confirm(program, item, subject, asking: prompter, checking: check) }
        }
        for program in programs { policy.decide(true, program, to: nil, item) }
    }

    private func confirm(
        _ program: DecidedProgram, _ item: AccessItem, _ subject: AccessSubject, asking prompter: any Prompter,
        checking check: () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        let (name, path) =
            program.id == nil
            ? ("any program", nil)
            : (program.name.split(separator: "/").last.map(String.init) ?? program.name, program.name)
        let identity = subject.identity
        let question = AccessQuestion(
            .read, of: item.name, by: AccessQuestion.Program(name: name, path: path), offersAlways: false,
            requestedBy: [identity.name, identity.starter].compactMap(\.self).joined(separator: ", started by "),
            patience: patience)
        guard prompter.canConfirm else {
            throw KeychainError(
                .interactionNotAllowed, "a person has to confirm it, and nobody can be asked",
                remedy: "run it where a prompt can be shown")
        }
        try check()
        try turn.take(checking: check) { _ throws(KeychainError) in
            let key = Question(
                asker: .run(subject.run), use: .read, item: "\(program.name) \(program.id == nil) \(item.keyInPlace)")
            let denial = denials.withLock { $0[key] }
            let isDenied = denial.map { $0.duration(to: .now) < denialLasts } ?? false
            if !isDenied {
                guard try prompter.decide(question) == .deny else { return }
                denials.withLock { $0[key] = .now }
            }
            throw KeychainError(.userCanceled, "'\(name)' was not allowed to use '\(item.name)'")
        }
    }

    /// The decisions about an item.
    func access(to item: AccessItem) throws(KeychainError) -> ItemAccess {
        let decisions = try policy.decisions(about: item)
        func rules(_ isAllowed: Bool) -> [AccessRule] {
            decisions.filter { $0.isAllowed == isAllowed }.map { AccessRule(AccessProgram($0.program), $0.use) }
        }
        return ItemAccess(allowed: rules(true), denied: rules(false))
    }

    /// Puts rules in the place of all that programs are allowed with an item, once a person has agreed to each program that may do more than
    /// before. None is asked about an item that the asking program has made itself. Denials stay.
    ///
    /// The program that has made the item stays the one that has where a rule lets it do everything.
    ///
    /// - Throws: `errSecParam` for a program that no decision can be about; `errSecUserCanceled`, `errSecInteractionNotAllowed` and
    ///   `errSecRestrictedAPI` as ``require(_:of:for:by:asking:checking:)``. Nothing is changed then.
    func replace(
        with rules: [AccessRule], _ item: AccessItem, for asking: AskingProgram, asking prompter: any Prompter,
        checking check: () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        let subject = try asking.subject()
        let (own, hasMade) = (subject.decidedProgram, has(subject, any: [.item(item.keyInPlace)]))
        var staysMaker = false
        var allowed: [ItemDecision] = []
        for rule in rules {
            let program = try program(rule.program, item, subject, asking)
            let isOwn = rule.program == .asking || own != nil && program?.id == own?.id
            if isOwn, rule.use == nil { staysMaker = hasMade }
            if let program {
                allowed.append(ItemDecision(program, to: rule.use))
            } else if !staysMaker {
                throw KeychainError(
                    .param, "no lasting decision can be about '\(subject.identity.name)'",
                    remedy: "name a program that is no interpreter, or none")
            }
        }
        if !hasMade {
            var confirmed: Set<DecidedProgram> = []
            // Another program may take permissions back while a person is asked.
            while let program = try widened(by: allowed, item).first(where: { !confirmed.contains($0) }) {
                try confirm(program, item, subject, asking: prompter, checking: check)
                confirmed.insert(program)
            }
        }
        try policy.replaceAllowed(item, with: allowed)
        let makers = staysMaker ? Set(subject.runs) : []
        grants.withLock { grants in
            grants.removeAll { grant, _ in
                switch grant.scope {
                case .place: false
                case .item(let key): key == item.keyInPlace && !makers.contains(grant.run)
                case .use(_, item: let key): key == item.keyInPlace
                }
            }
        }
    }

    /// The programs that decisions would allow more than is allowed now.
    private func widened(by decisions: [ItemDecision], _ item: AccessItem) throws(KeychainError) -> [DecidedProgram] {
        let present = try policy.decisions(about: item)
        return decisions.filter { decision in !present.contains { $0.covers(decision) } }.map(\.program)
    }

    /// The program of a rule; nil for the asking one where no lasting decision can be about it.
    ///
    /// - Throws: `errSecParam` for another such program, and for one that is no longer as it was when it was decided about.
    private func program(
        _ program: AccessProgram, _ item: AccessItem, _ subject: AccessSubject, _ asking: AskingProgram
    ) throws(KeychainError) -> DecidedProgram? {
        switch program {
        case .any: return .any
        case .asking: return subject.decidedProgram
        case .path(let path): return try asking.program(at: path)
        case .decided(let name, let identity):
            let present = try policy.decisions(about: item).lazy.filter(\.isAllowed).map(\.program)
            if let known = present.first(where: { $0.identity == identity }) { return known }
            if let own = subject.decidedProgram, own.identity == identity { return own }
            // The name is the client's choice, and a person would be asked about it.
            let found = try asking.program(at: name)
            guard found.identity == identity else {
                throw KeychainError(
                    .param, "'\(found.name)' is another program than the one that was trusted",
                    remedy: "make the trusted application again from its path")
            }
            return found
        }
    }

    /// Refuses programs each use of an item from now on.
    func deny(_ programs: [DecidedProgram], _ item: AccessItem) {
        for program in programs { policy.decide(false, program, to: nil, item) }
    }

    /// Forgets the decisions that are all of these, and what programs may do that have made such items. A program that has given the PIN or
    /// password itself may go on.
    ///
    /// - Parameters:
    ///   - item: nil for decisions about each one.
    ///   - program: nil for decisions about each one.
    /// - Returns: the number of lasting decisions, and of those for as long as the host's process runs.
    func forget(item: AccessItem?, program: DecidedProgram?) throws(KeychainError) -> Int {
        // Runs of programs are known by their processes alone.
        if program == nil {
            grants.withLock { grants in
                grants.removeAll { grant, _ in
                    switch grant.scope {
                    case .place: false
                    case .item(let key), .use(_, item: let key): item == nil || key == item?.keyInPlace
                    }
                }
            }
        }
        return try policy.forget(item: item, program: program)
    }
}

extension AccessSubject {
    /// The program whose lasting decisions hold; nil for one that has none.
    fileprivate var decidedProgram: DecidedProgram? {
        lasting.map { id in
            let place = identity.container.map { " in \($0.words)" } ?? ""
            return DecidedProgram(id, name: (identity.path ?? identity.name) + place)
        }
    }
}

extension AccessProgram {
    fileprivate init(_ program: DecidedProgram) {
        self = program.id == nil ? .any : .decided(name: program.name, identity: program.identity)
    }
}
