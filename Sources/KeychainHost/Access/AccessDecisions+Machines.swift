internal import HostAPI
internal import Platform

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
}
