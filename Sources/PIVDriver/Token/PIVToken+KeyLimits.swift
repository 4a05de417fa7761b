public import SystemCrypto
public import TokenKit

extension PIVToken {
    /// The limits of the card's version, for makes whose limits depend on it. Any other card has the keys of every PIV card (RSA
    /// of 2048 bits, P-256 and P-384; SP 800-78-5 §3.1), the announced ones, and those that are on it.
    public var knownKeyLimits: TokenKeyLimits? {
        if quirks.has(.keysByVersion) { return knownVersion.flatMap { Firmware($0) }.map(Self.limits) }
        return announcedLimits
    }

    public mutating func keyLimits(_ card: inout CardTransaction) throws(TokenError) -> TokenKeyLimits {
        if let knownKeyLimits { return knownKeyLimits }
        return try firmware(&card).map(Self.limits) ?? announcedLimits
    }

    private var announcedLimits: TokenKeyLimits {
        var (sizes, hasCurve25519): (Set<Int>, Bool) = ([2048], false)
        let present = knowledge.slots.values.compactMap { $0?.key } + knowledge.bareKeys.values
        for kind in application.algorithms.compactMap(\.keyKind) + present.map(\.kind) {
            switch kind {
            case .rsa(let bits): sizes.insert(bits)
            case .ed25519, .x25519: hasCurve25519 = true
            case .ecP256, .ecP384, .ecP521, .other: break
            }
        }
        return TokenKeyLimits(
            rsa: (sizes.min() ?? 2048)...(sizes.max() ?? 2048), curves: 256...384, hasCurve25519: hasCurve25519)
    }

    /// The limits of YubiKeys by their versions: P-384 from 4.0, RSA 3072 and 4096, Ed25519 and X25519 from 5.7.
    private static func limits(of version: Firmware) -> TokenKeyLimits {
        let isLatest = version >= Firmware(5, 7, 0)
        return TokenKeyLimits(
            rsa: 1024...(isLatest ? 4096 : 2048), curves: 256...(version >= Firmware(4, 0, 0) ? 384 : 256),
            hasCurve25519: isLatest)
    }
}
