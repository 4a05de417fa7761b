package import HostAPI
internal import KeychainModel
internal import Platform

/// A machine whose programs ask by way of a program here, which forwards their requests to the host: ssh.
package struct AskingMachine: Sendable {
    /// The machine; nil where it has not proved which one it is.
    let known: @Sendable () -> RemoteMachine?
    /// The name of one that has not, for people.
    let otherName: String

    package init(_ known: @escaping @Sendable () -> RemoteMachine?, otherwiseNamed otherName: String) {
        (self.known, self.otherName) = (known, otherName)
    }

    /// The present name, for people.
    package var name: String { known()?.name ?? otherName }
}

// Decisions about other machines, which are in the place of programs.
extension AccessDecisions {
    /// Whether a person has allowed another machine a use of an item.
    ///
    /// - Parameter machine: its ``RemoteMachine/id``.
    func isAlwaysAllowed(_ use: AccessQuestion.Use, of item: AccessItem, to machine: String) -> Bool {
        policy.decision(on: .machine(machine), to: use, item) == true
    }

    /// Notes that a person has allowed it.
    func allowAlways(_ use: AccessQuestion.Use, of item: AccessItem, to machine: RemoteMachine) {
        policy.decide(
            true, DecidedProgram(.machine(machine.id), name: RemoteMachine.mark + machine.name), to: use, item)
    }

    /// Returns where a machine may use the item now, after a question to a person for each use unless the machine is always allowed it.
    ///
    /// - Parameter program: the program that leads to the machine.
    /// - Throws: as ``require(_:of:for:by:asking:checking:)``.
    func require(
        _ use: AccessQuestion.Use, of item: AccessItem, from machine: AskingMachine, by program: AskingProgram,
        asking prompter: any Prompter, checking check: () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        func isAllowed() -> Bool { machine.known().map { isAlwaysAllowed(use, of: item, to: $0.id) } ?? false }
        func question() throws(KeychainError) -> AccessQuestion {
            let known = machine.known()
            return AccessQuestion(
                use, of: item.name, by: AccessQuestion.Program(try program.identity()),
                offersAlways: known.map { AccessQuestion.showsWhole(machine: $0.name) } ?? false,
                from: known?.name ?? machine.otherName, patience: patience)
        }
        if isAllowed() { return }
        guard prompter.canConfirm else { throw .cannotDecide(try question()) }
        try check()
        try turn.take(checking: check) { _ throws(KeychainError) in
            // A question before this one may have been the same.
            if isAllowed() { return }
            let (question, run) = (try question(), try program.identity().run)
            let key = Question(asker: .machine(run), use: use, item: item.keyInPlace)
            switch try decision(on: question, key, asking: prompter) {
            case .deny: throw AccessDecisions.denied(question)
            case .allowOnce: break
            case .allowAlways:
                if question.offersAlways, let machine = machine.known() { allowAlways(use, of: item, to: machine) }
            }
        }
    }
}
