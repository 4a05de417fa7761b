internal import SecureBytes

/// The key as the login session's keyring has it, with the machine's sleep before it was stored, and the time at which it expires.
///
/// The form: the key, the milliseconds that the machine had slept, and the uptime in milliseconds at which the key
/// expires, both in eight bytes, most significant first; then the salt of the keychain's password. A keychain whose
/// password was changed has another salt, so that a key that any session has kept from before does not open it.
struct SharedKey: ~Copyable {
    let key: Secret
    let asleep: Int64
    let end: Int64
    let salt: [UInt8]

    private static let minimumLength = WrappedKey.keyLength + 16

    init(_ key: borrowing Secret, asleep: Int64, end: Int64, salt: [UInt8]) {
        self.key = key.clone()
        (self.asleep, self.end, self.salt) = (asleep, end, salt)
    }

    /// - Returns: nil for anything that ``encoded()`` has not made; no machine runs for so long that one of the times is negative.
    init?(parsing bytes: borrowing Secret) {
        guard bytes.count >= Self.minimumLength else { return nil }
        let span = bytes.bytes
        let asleep = Self.number(span.extracting(WrappedKey.keyLength..<WrappedKey.keyLength + 8))
        let end = Self.number(span.extracting(WrappedKey.keyLength + 8..<Self.minimumLength))
        guard asleep >= 0, end >= 0 else { return nil }
        key = Secret(copying: span.extracting(0..<WrappedKey.keyLength))
        (self.asleep, self.end) = (asleep, end)
        salt = span.indices.dropFirst(Self.minimumLength).map { span[$0] }
    }

    func encoded() -> Secret {
        Secret(capacity: Self.minimumLength + salt.count) { output in
            let span = key.bytes
            for index in span.indices.prefix(WrappedKey.keyLength) { output.append(span[index]) }
            for number in [asleep, end] {
                for shift in stride(from: 56, through: 0, by: -8) {
                    output.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
                }
            }
            for byte in salt { output.append(byte) }
        }
    }

    private static func number(_ bytes: Span<UInt8>) -> Int64 {
        var number: Int64 = 0
        for index in bytes.indices { number = number << 8 | Int64(bytes[index]) }
        return number
    }
}
