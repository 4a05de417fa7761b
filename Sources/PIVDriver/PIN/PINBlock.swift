internal import SecureBytes
internal import TokenKit

/// PINs in the card's form: eight bytes, padded with `FF`. SP 800-73-5 part 1 §4.4, part 2 §2.4.3.
enum PINBlock {
    static let length = 8
    private static let minimumLength = 6
    static let lengths = minimumLength...length
    private static let padding: UInt8 = 0xFF

    /// The block for a PIN that is typed on a reader's keys, which has only digits.
    static let entry = PINEntry(
        digits: UInt8(minimumLength)...UInt8(length), block: Array(repeating: padding, count: length))

    /// - Throws: ``TokenError`` `.pinFormat` for a value that the card would refuse, which may cost a try.
    static func padded(
        _ pin: borrowing PIN, kind: PINKind, anyCharacters: Bool
    ) throws(TokenError) -> Secret {
        let bytes = pin.bytes
        let name = kind == .pin ? "PIN" : "PUK"
        guard lengths.contains(bytes.count) else {
            throw TokenError(.pinFormat, "a \(name) has six to eight characters; nothing was sent to the card")
        }
        var isAllowed = true
        for index in bytes.indices {
            let isDigit = (0x30...0x39).contains(bytes[index])
            if bytes[index] == padding || (kind == .pin && !anyCharacters && !isDigit) { isAllowed = false }
        }
        guard isAllowed else {
            let rule = kind == .pin && !anyCharacters ? "has only digits" : "cannot contain the byte FF"
            throw TokenError(.pinFormat, "this card's \(name) \(rule); nothing was sent to the card")
        }
        return Secret(capacity: length) { output in
            output.append(bytes)
            while output.count < length { output.append(padding) }
        }
    }

    /// Two blocks, one after the other.
    static func pair(_ first: borrowing Secret, _ second: borrowing Secret) -> Secret {
        Secret(joining: first.bytes, second.bytes)
    }
}
