import Foundation
import SecureBytes
import SystemCrypto
import Testing

@Suite struct Base64Tests {
    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func theStandardsExamples(text: String, digits: String) throws {
        #expect(Base64.encode(utf8(text)) == digits)
        #expect(reveal(Base64.encode(utf8(text).span)) == utf8(digits))
        #expect(reveal(try Base64.decode(utf8(digits).span)) == utf8(text))
    }

    @Test func digitsAreWhatOthersRead() throws {
        for count in 0..<200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 251 &* $0 &+ count) }
            let digits = Base64.encode(bytes)
            #expect(digits == Data(bytes).base64EncodedString())
            #expect(reveal(Base64.encode(bytes.span)) == utf8(digits))
            #expect(reveal(try Base64.decode(utf8(digits).span)) == bytes)
        }
    }

    @Test func longOnesAreEncodedInBlocks() throws {
        for count in [3 << 20, 3 << 20 + 1, (6 << 20) + 2] {
            let bytes = [UInt8](repeating: 0xA5, count: count)
            let digits = Base64.encode(bytes)
            #expect(digits == Data(bytes).base64EncodedString())
            #expect(reveal(try Base64.decode(utf8(digits).span)) == bytes)
        }
    }

    @Test(arguments: [
        ("Zg", "no padding"), ("Zg=", "too little padding"), ("Zg===", "too much padding"),
        ("Zm9v====", "needless padding"),
        ("Z===", "one digit"), ("====", "padding alone"), ("Zg==Zg==", "padding in the middle"),
        ("Z=9v", "padding as a digit"),
        ("=m9v", "padding first"), ("Zm=v", "padding before a digit"), ("Zh==", "bits behind one byte"),
        ("Zm9=", "bits behind two bytes"), (" Zm9v", "a blank before"), ("Zm9v ", "a blank behind"),
        ("Zm9v\n", "a line feed"),
        ("Zm 9", "a blank inside"), ("Zm9v\nZm9v", "two lines"), ("    Zm9v", "four blanks before"),
        ("Zm9v\r\n\r\n", "ends of lines"), ("Zm9v\0\0\0\0", "zeros"), ("Zm-v", "the alphabet for URLs"),
        ("Zm_v", "the alphabet for URLs"), ("Zm9é", "a letter that is not ASCII"), ("Zm9v-", "a hyphen behind"),
        ("-Zm9", "a hyphen first"), ("Zm9v----", "hyphens behind"), ("!!!!", "no digits"), ("Z", "a single digit"),
    ])
    func anythingElseIsMalformed(text: String, why: Comment) {
        #expect(throws: CryptoError(.malformed, ""), why) { _ = try Base64.decode(utf8(text).span) }
    }

    /// Only text that would be written is accepted.
    @Test func noDigitsAreMalleable() {
        let edges = utf8("AZaz09+/=-_ \n\r\0\u{7F}") + [0x80, 0xFF]
        for first in edges {
            for second in edges {
                for third in edges {
                    for fourth in edges {
                        let digits = [first, second, third, fourth]
                        guard let bytes = try? Base64.decode(digits.span) else { continue }
                        let again = reveal(Base64.encode(bytes.bytes))
                        if again != digits { Issue.record("\(digits) came out as \(again)") }
                    }
                }
            }
        }
    }
}
