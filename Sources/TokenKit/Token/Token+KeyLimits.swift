public import SystemCrypto

extension Token {
    public var knownKeyLimits: TokenKeyLimits? { nil }

    public mutating func keyLimits(_ card: inout CardTransaction) throws(TokenError) -> TokenKeyLimits { .unknown }
}
