/// The limits of the time for which a presented PIN stays valid.
public struct PINLimits: Hashable, Sendable {
    /// The time from the first presentation; nil for as long as the card accepts the PIN.
    public let total: Duration?
    /// The time without a use of the PIN; nil for no such limit.
    public let unused: Duration?

    public init(total: Duration?, unused: Duration? = nil) {
        self.total = total
        self.unused = unused
    }

    public static let none = PINLimits(total: nil)
}
