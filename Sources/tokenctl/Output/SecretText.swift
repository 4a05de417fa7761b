internal import SecureBytes

/// Secrets as macOS's `security` prints them. The printed form is a secret too, and is overwritten as one.
enum SecretText {
    /// The secret's text where all of it is printable, else its hexadecimal digits.
    static func plain(_ secret: borrowing Secret) -> Secret {
        let bytes = secret.bytes
        var isPrintable = true
        for index in bytes.indices where !(0x20...0x7E).contains(bytes[index]) { isPrintable = false }
        guard !isPrintable else { return secret.clone() }
        return Secret(capacity: 2 * bytes.count) { output in
            for index in bytes.indices {
                output.append(digit(bytes[index] >> 4))
                output.append(digit(bytes[index] & 0x0F))
            }
        }
    }

    /// The secret in quotation marks, as attributes are printed.
    static func quoted(_ secret: borrowing Secret) -> Secret {
        let bytes = secret.bytes
        return Secret(capacity: QuotedText.room(for: bytes.count)) { output in
            QuotedText.write(bytes) { output.append($0) }
        }
    }

    // MARK: In a string of JSON, RFC 8259 §7

    /// The text with its escapes; nil for bytes that are not UTF-8.
    static func escaped(_ secret: borrowing Secret) -> Secret? {
        let bytes = secret.bytes
        guard let text = try? UTF8Span(validating: bytes) else { return nil }
        return Secret(capacity: 6 * bytes.count) { output in
            var scalars = text.makeUnicodeScalarIterator()
            while let scalar = scalars.next() {
                if scalar == "\"" || scalar == "\\" { output.append(UInt8(ascii: "\\")) }
                let isShown = DisplayText.isShown(scalar)
                for byte in isShown ? Array(scalar.utf8) : DisplayText.jsonEscape(scalar) { output.append(byte) }
            }
        }
    }

    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x57 + nibble }
}

/// Bytes as macOS's `security` prints them: text in quotation marks, and hexadecimal digits before it where not all of it
/// is printable, as in `0x68C3A9  "h\303\251"`.
enum QuotedText {
    static func string(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        write(bytes.span) { text.append($0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The maximum length of the text of `count` bytes: prefix, two digits and four octal characters a byte, blanks and marks.
    static func room(for count: Int) -> Int { 6 + 6 * count }

    static func write(_ bytes: Span<UInt8>, to append: (UInt8) -> Void) {
        func put(_ text: StaticString) { for byte in text.description.utf8 { append(byte) } }
        var (hasText, hasOther) = (false, false)
        for index in bytes.indices {
            if isPlain(bytes[index]) { hasText = true } else { hasOther = true }
        }
        if hasOther {
            put("0x")
            for index in bytes.indices {
                append(Hex.digit(bytes[index] >> 4))
                append(Hex.digit(bytes[index] & 0x0F))
            }
            put(hasText ? "  " : " ")
        }
        guard hasText else { return }
        put("\"")
        for index in bytes.indices {
            let byte = bytes[index]
            if isPlain(byte) {
                append(byte)
            } else {
                put("\\")
                for shift in [6, 3, 0] as [UInt8] { append(0x30 + (byte >> shift & 7)) }
            }
        }
        put("\"")
    }

    private static func isPlain(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) && byte != 0x5C }
}
