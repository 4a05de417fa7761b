import Testing

@testable import SystemCrypto

@Suite struct DERTests {
    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536, 1_000_000])
    func everyLengthComesBack(count: Int) throws {
        let content = [UInt8](repeating: 0xAA, count: count)
        let encoded = DER.octetString(content)
        var reader = DERReader(encoded[...])
        let element = try reader.read(DER.Tag.octetString)
        try reader.finish()
        #expect(Array(element.content) == content)
        #expect(Array(element.encoded) == encoded)
    }

    @Test(arguments: [
        ("", "no bytes"), ("30", "no length"), ("3001", "content missing"), ("3080", "indefinite length"),
        ("308001020000", "indefinite length with end"), ("30817F", "long form of a short length"),
        ("3081800000", "content shorter than its length"), ("30820001", "leading zero in the length"),
        ("3085000000000100", "five octets of length"), ("3084FFFFFFFF", "4 GiB"), ("1F0100", "tag of two bytes"),
        ("30FF", "reserved length"), ("3082", "length cut off"),
    ])
    func malformed(text: String, why: Comment) {
        var reader = DERReader(hex(text)[...])
        #expect(throws: CryptoError(.malformed, ""), why) { try reader.read() }
    }

    @Test func leftoversAreMalformed() throws {
        var reader = DERReader(hex("040101 05")[...])
        _ = try reader.read(DER.Tag.octetString)
        #expect(!reader.isAtEnd)
        #expect(throws: CryptoError(.malformed, "")) { try reader.finish() }
    }

    @Test func anotherTagIsMalformedOrAbsent() throws {
        var reader = DERReader(hex("040101")[...])
        #expect(try reader.readOptional(DER.Tag.integer) == nil)
        #expect(try reader.readOptional(DER.Tag.octetString) != nil)
        #expect(try reader.readOptional(DER.Tag.octetString) == nil)
        var other = DERReader(hex("040101")[...])
        #expect(throws: CryptoError(.malformed, "")) { try other.read(DER.Tag.sequence) }
    }

    @Test(arguments: [
        ([], "020100"), ([0], "020100"), ([0, 0], "020100"), ([1], "020101"), ([0x7F], "02017F"), ([0x80], "02020080"),
        ([0, 0x80], "02020080"), ([0xFF, 0xFF], "020300FFFF"),
    ])
    func integersAreShortAndNotNegative(magnitude: [UInt8], encoded: String) {
        #expect(DER.integer(magnitude) == hex(encoded))
    }

    @Test func readingNeverTrapsOnAnyTwoBytes() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                var reader = DERReader([first, second, 0, 0][...])
                while (try? reader.read()) != nil {}
            }
        }
    }
}

extension DERElement: Equatable {
    public static func == (left: DERElement, right: DERElement) -> Bool { left.encoded == right.encoded }
}
