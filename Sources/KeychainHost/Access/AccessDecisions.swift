package import HostAPI
package import KeychainModel
internal import Platform
internal import Synchronization
internal import TokenKit

/// An item whose use a person decides about.
package struct AccessItem: Sendable, Hashable {
    /// A text that no other item has, of any keychain.
    package let key: String
    /// The name, for people.
    package let name: String

    package init(key: String, name: String) {
        (self.key, self.name) = (key, name)
    }
}

/// The decisions which program may use which item, one for all clients of a host's process.
///
///     try decisions.require(.sign, of: item, by: program, asking: prompter) { () throws(KeychainError) in try ticket.check() }
///
/// It asks a person where there is no decision yet. No lock is held meanwhile, and no card may be.
package final class AccessDecisions: Sendable {
    private let policy: any AccessPolicy
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
        /// A program without an identity, in one process.
        case run(ProgramRun)
    }

    /// - Parameters:
    ///   - policy: the place of decisions that hold for ever.
    ///   - patience: the time for an answer.
    ///   - denialLasts: the time for which a denial also answers equal questions, such as those that waited meanwhile.
    package init(
        policy: any AccessPolicy = RememberedAccess(), patience: Duration = AccessQuestion.standardPatience,
        denialLasts: Duration = .seconds(10)
    ) {
        self.policy = policy
        (self.patience, self.denialLasts) = (patience, denialLasts)
    }

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
        let identity = try program.identity()
        if isAllowed(identity, use, item) { return }
        guard prompter.canConfirm else { throw .cannotDecide(question(use, item, purpose, identity)) }
        try check()
        try turn.take(checking: check) { _ throws(KeychainError) in
            // A question before this one may have been the same.
            let identity = try program.identity()
            if isAllowed(identity, use, item) { return }
            let question = question(use, item, purpose, identity)
            let key = Question(
                asker: identity.id.map(Asker.program) ?? .run(identity.run), use: use, item: item.key)
            if let denial = denials.withLock({ $0[key] }), denial.duration(to: .now) < denialLasts {
                throw AccessDecisions.denied(question)
            }
            let decision = try prompter.decide(question)
            if decision == .deny { denials.withLock { $0[key] = .now } }
            try take(decision, on: question, identity, item, of: program)
        }
    }

    private func isAllowed(_ identity: ProgramIdentity, _ use: AccessQuestion.Use, _ item: AccessItem) -> Bool {
        identity.id.map { policy.allows($0, to: use, item.key) } ?? false
    }

    // MARK: Questions

    private func question(
        _ use: AccessQuestion.Use, _ item: AccessItem, _ purpose: String?, _ identity: ProgramIdentity
    ) -> AccessQuestion {
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
            use, of: item.name, by: described, for: purpose, offersAlways: identity.id != nil, hasChanged: hasChanged,
            patience: patience)
    }

    private func take(
        _ decision: AccessDecision, on question: AccessQuestion, _ identity: ProgramIdentity, _ item: AccessItem,
        of program: AskingProgram
    ) throws(KeychainError) {
        guard decision != .deny else { throw AccessDecisions.denied(question) }
        let now = try program.identity()
        guard now.run == identity.run, now.id == identity.id else {
            throw KeychainError(
                .restrictedAPI, "the file of '\(question.program.name)' was changed while a person was asked about it")
        }
        guard let id = identity.id else { return }
        if let path = AccessDecisions.ownPath(of: identity) { policy.noteAllowed(id, at: path) }
        if decision == .allowAlways { policy.allow(id, to: question.use, item.key) }
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
