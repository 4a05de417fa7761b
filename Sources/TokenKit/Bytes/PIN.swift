/// A personal identification number or unblocking key as a person typed it, before any padding.
///
/// It knows nothing of what a card accepts: the driver checks length and characters before a try is spent.
public struct PIN: ~Copyable, Sendable {
    /// The characters, in the encoding they were typed in.
    public let secret: Secret

    public init(_ secret: consuming Secret) {
        self.secret = secret
    }

    /// A PIN from text that is no secret, as tests and documented defaults have it.
    package init(_ text: StaticString) {
        var bytes = Array(text.description.utf8)
        secret = Secret(consuming: &bytes)
    }

    /// The number of bytes.
    public var count: Int { secret.count }

    /// The bytes, for as long as the PIN is borrowed.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { secret.bytes }
    }

    /// A second PIN of the same bytes.
    public borrowing func clone() -> PIN {
        PIN(secret.clone())
    }
}
