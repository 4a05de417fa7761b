/// Hexadecimal text, as in descriptions of card protocols.
public enum Hex {
    /// Two upper-case digits a byte, no separators.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0x0F))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of hexadecimal text. White space and colons between bytes are ignored.
    ///
    /// - Returns: nil for an odd number of digits or any other character.
    @inlinable public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            switch (value(of: character), high) {
            case (let digit?, nil): high = digit
            case (let digit?, let first?):
                bytes.append(first << 4 | digit)
                high = nil
            case (nil, nil) where character == 0x20 || character == 0x0A || character == 0x09 || character == 0x3A:
                continue
            default: return nil
            }
        }
        return high == nil ? bytes : nil
    }

    /// The upper-case digit of four bits.
    package static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? nibble + 0x30 : nibble + 0x37 }

    /// The four bits of a digit; nil for another character.
    @usableFromInline package static func value(of character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x41...0x46: character - 0x37
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }
}

extension Secret {
    /// The bytes that hexadecimal digits stand for; nil for an odd number of digits, or other characters.
    package init?(hexadecimal digits: borrowing Secret) {
        let text = digits.bytes
        var isValid = text.count.isMultiple(of: 2)
        self.init(capacity: text.count / 2) { output in
            for index in 0..<text.count / 2 where isValid {
                guard let high = Hex.value(of: text[2 * index]), let low = Hex.value(of: text[2 * index + 1]) else {
                    isValid = false
                    return
                }
                output.append(high << 4 | low)
            }
        }
        guard isValid else { return nil }
    }

    /// The bytes as hexadecimal digits.
    package borrowing func hexadecimal() -> Secret {
        let digits = Array("0123456789abcdef".utf8)
        return Secret(capacity: 2 * count) { output in
            for index in 0..<count {
                output.append(digits[Int(bytes[index] >> 4)])
                output.append(digits[Int(bytes[index] & 0x0F)])
            }
        }
    }
}
