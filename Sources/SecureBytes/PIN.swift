/// A personal identification number or unblocking key as a person typed it, before any padding.
///
/// The PIN is not checked here: the driver checks length and characters before a try is spent.
public struct PIN: ~Copyable, Sendable {
    /// The origin of the PIN.
    public enum Origin: Sendable {
        /// The PIN was given by the program or a person, and its characters are known.
        case given
        /// The PIN is typed on the keys of the reader, or on those of the token.
        case typed
        /// The PIN was presented just now, for the use that follows.
        case presented
    }

    public let origin: Origin

    /// The mark of a PIN that a host has kept.
    public struct Kept: Sendable {
        /// The number of times that the host had forgotten the PIN of the card before.
        package let forgettings: Int
        /// Whether another client than the present one gave it.
        package let isOthers: Bool

        package init(after forgettings: Int, isOthers: Bool) {
            (self.forgettings, self.isOthers) = (forgettings, isOthers)
        }
    }

    /// Nil for a PIN that a person or a program gives now.
    public let kept: Kept?

    /// The characters, in the encoding in which they were typed; empty for a PIN that is typed elsewhere.
    public let secret: Secret

    public init(_ secret: consuming Secret) {
        self.init(.given, secret)
    }

    package init(_ secret: consuming Secret, kept: Kept?) {
        self.init(.given, secret, kept: kept)
    }

    private init(_ origin: Origin, _ secret: consuming Secret, kept: Kept? = nil) {
        (self.origin, self.kept) = (origin, kept)
        self.secret = secret
    }

    /// A PIN for a person to type on the keys of the reader or of the token.
    public static var typed: PIN { PIN(.typed, Secret(capacity: 0) { _ in }) }

    /// A PIN that a person has just typed there.
    public static var presented: PIN { PIN(.presented, Secret(capacity: 0) { _ in }) }

    /// A PIN from text that is not secret, for tests and documented defaults.
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
        PIN(origin, secret.clone(), kept: kept)
    }
}
