/// A message of the host that its client shows a person while a request is under way. It has no reply.
public enum HostNotice: Sendable, Hashable {
    /// A message that stays.
    case remark(String)
    /// A message that is shown until ``over(_:)`` has its number.
    case message(String, number: UInt32)
    /// A wait for the card in a reader, which another program may be using, until ``over(_:)`` has its number.
    case wait(forCardIn: String, number: UInt32)
    /// The end of a message or of a wait.
    case over(UInt32)
}
