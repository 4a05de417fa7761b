/// A personal identification number or unblocking key as a person typed it, before any padding.
///
/// It knows nothing of what a card accepts: the driver checks length and characters before a try is spent.
public struct PIN: ~Copyable, Sendable {
    /// The origin of the PIN.
    public enum Origin: Sendable {
        /// From here.
        case given
        /// The PIN is typed on the keys of the reader, or on those of the token.
        case typed
        /// The PIN was presented just now, for the use that follows.
        case presented
    }

    public let origin: Origin

    /// The characters, in the encoding they were typed in; empty for a PIN that is typed elsewhere.
    public let secret: Secret

    public init(_ secret: consuming Secret) {
        self.init(.given, secret)
    }

    private init(_ origin: Origin, _ secret: consuming Secret) {
        self.origin = origin
        self.secret = secret
    }

    /// One that a person is to type on the keys of the reader or of the token.
    public static var typed: PIN { PIN(.typed, Secret(capacity: 0) { _ in }) }

    /// One that a person typed there just now.
    public static var presented: PIN { PIN(.presented, Secret(capacity: 0) { _ in }) }

    /// A PIN from text that is no secret, as tests and documented defaults have it.
    package init(_ text: StaticString) {
        var bytes = Array(text.description.utf8)
        self.init(Secret(consuming: &bytes))
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
        PIN(origin, secret.clone())
    }
}
