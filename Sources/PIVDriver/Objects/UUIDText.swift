/// The text form of a UUID. RFC 9562 §4.
enum UUIDText {
    /// Thirty-two lower-case digits in five groups.
    static func encode(_ bytes: [UInt8]) -> String {
        let digits = bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 0x0F, radix: 16) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
            .map { group in digits[group.clamped(to: digits.indices)].joined() }
            .joined(separator: "-")
    }
}
