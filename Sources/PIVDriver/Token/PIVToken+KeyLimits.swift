public import TokenKit

extension PIVToken {
    /// A card without a make of its own has the keys of SP 800-78-5 §3.1 and those that it announces.
    public var knownKeyLimits: TokenKeyLimits? {
        if quirks.has(.keysByVersion) { return knownVersion.flatMap { Firmware($0) }.map(Self.limits) }
        guard quirks.manufacturer == nil, quirks.model == nil else { return .unknown }
        let announced = application.algorithms
        return TokenKeyLimits(
            rsa: 1024...(announced.contains(.rsa4096) ? 4096 : 3072), curves: 256...384,
            hasCurve25519: announced.contains(.ed25519) || announced.contains(.x25519))
    }

    public mutating func keyLimits(_ card: inout CardTransaction) throws(TokenError) -> TokenKeyLimits {
        if let knownKeyLimits { return knownKeyLimits }
        return try firmware(&card).map(Self.limits) ?? .unknown
    }

    /// What YubiKeys have by their versions: P-384 from 4.0, RSA 3072 and 4096, Ed25519 and X25519 from 5.7.
    private static func limits(of version: Firmware) -> TokenKeyLimits {
        let isLatest = version >= Firmware(5, 7, 0)
        return TokenKeyLimits(
            rsa: 1024...(isLatest ? 4096 : 2048), curves: 256...(version >= Firmware(4, 0, 0) ? 384 : 256),
            hasCurve25519: isLatest)
    }
}
