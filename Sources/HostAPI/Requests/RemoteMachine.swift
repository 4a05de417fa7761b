/// A machine to which a person's SSH agent is forwarded, over others or directly.
package struct RemoteMachine: Sendable, Hashable {
    /// A text that no other machine has, nor the same one over other machines: each of those could speak for it.
    package let id: String
    /// The name, for people.
    package let name: String

    /// The beginning of a machine's name where it is in the place of a program.
    package static let mark = "machine "

    package init(id: String, named name: String) { (self.id, self.name) = (id, name) }
}
