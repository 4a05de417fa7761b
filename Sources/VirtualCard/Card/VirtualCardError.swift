/// The reason why a virtual card could not be made, stored or run.
public struct VirtualCardError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// A file cannot be read.
        case unreadable
        /// A file cannot be written.
        case unwritable
        /// A file's content is wrong.
        case corrupt
        /// No profile has that name.
        case unknownProfile
        /// The card's profile does not support it.
        case unsupported
        /// No process answers for the reader or the card.
        case unreachable
        /// The running card refused an order.
        case refused
    }

    public let code: Code

    /// The reason and the remedy; never a card's content.
    public let reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public static func == (left: VirtualCardError, right: VirtualCardError) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    public var description: String { reason }
}
