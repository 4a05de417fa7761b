/// The keys that a token may have, as far as its model is known.
public struct TokenKeyLimits: Hashable, Sendable {
    /// Sizes of RSA keys, in bits.
    public let rsa: ClosedRange<Int>
    /// Sizes of keys on NIST curves, in bits.
    public let curves: ClosedRange<Int>
    /// Whether the token may have Ed25519 and X25519 keys.
    public let hasCurve25519: Bool

    public init(rsa: ClosedRange<Int>, curves: ClosedRange<Int>, hasCurve25519: Bool) {
        self.rsa = rsa
        self.curves = curves
        self.hasCurve25519 = hasCurve25519
    }

    /// The keys that any token may have.
    public static let unknown = TokenKeyLimits(rsa: 1024...4096, curves: 256...384, hasCurve25519: true)
}
