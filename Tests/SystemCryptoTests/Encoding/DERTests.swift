import SecureBytes
import Testing

@testable import SystemCrypto

@Suite struct DERTests {
    @Test(arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536, 1_000_000])
    func everyLengthComesBack(count: Int) throws {
        let content = [UInt8](repeating: 0xAA, count: count)
        let encoded = DER.octetString(content)
        var reader = TLVReader(encoded, .der)
        let element = try reader.read(DER.Tag.octetString)
        try reader.finish()
        #expect(element.value == content)
        #expect(element.encoded() == encoded)
    }

    @Test(arguments: [
        ("", "no bytes"), ("30", "no length"), ("3001", "content missing"), ("3080", "indefinite length"),
        ("308001020000", "indefinite length with end"), ("30817F", "long form of a short length"),
        ("3081800000", "content shorter than its length"), ("30820001", "leading zero in the length"),
        ("3085000000000100", "five octets of length"), ("3084FFFFFFFF", "4 GiB"), ("1F0100", "tag of two bytes"),
        ("30FF", "reserved length"), ("3082", "length cut off"),
    ])
    func malformed(text: String, why: Comment) {
        var reader = TLVReader(hex(text), .der)
        #expect(throws: CryptoError(.malformed, ""), why) { try reader.read() }
    }

    @Test func leftoversAreMalformed() throws {
        var reader = TLVReader(hex("040101 05"), .der)
        _ = try reader.read(DER.Tag.octetString)
        #expect(!reader.isAtEnd)
        #expect(throws: CryptoError(.malformed, "")) { try reader.finish() }
    }

    @Test func anotherTagIsMalformedOrAbsent() throws {
        var reader = TLVReader(hex("040101"), .der)
        #expect(try reader.readOptional(DER.Tag.integer) == nil)
        #expect(try reader.readOptional(DER.Tag.octetString) != nil)
        #expect(try reader.readOptional(DER.Tag.octetString) == nil)
        var other = TLVReader(hex("040101"), .der)
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
                var reader = TLVReader([first, second, 0, 0], .der)
                while (try? reader.read()) != nil {}
            }
        }
    }

    @Test func secretElementsAreTakenOneByOne() throws {
        let bytes = hex("30 07 0201 01 0402 AABB 0500")
        var rest = bytes.span
        var fields = try rest.readDER(DER.Tag.sequence)
        let left = rest.count
        #expect(left == 2)
        let version = try fields.readDER(DER.Tag.integer)
        let value = version[0]
        #expect(value == 1)
        let next = fields.nextDERTag
        #expect(next == DER.Tag.octetString)
        let octets = try fields.readDER(DER.Tag.octetString)
        let copied = octets.indices.map { octets[$0] }
        #expect(copied == [0xAA, 0xBB])
        let isAtEnd = fields.isEmpty && fields.nextDERTag == nil
        #expect(isAtEnd)
    }

    @Test func anotherTagTakesNothing() throws {
        let bytes = hex("0401AA")
        var rest = bytes.span
        do {
            _ = try rest.readDER(DER.Tag.integer)
            Issue.record("an octet string was read as an integer")
        } catch {
            #expect(error == CryptoError(.malformed, ""))
        }
        let left = rest.count
        #expect(left == 3)
    }

    @Test(arguments: [
        ("", "DER tag"), ("0401AA", "DER tag"), ("1F0101", "DER tag"), ("02", "DER length"), ("0201", "DER length"),
        ("0280", "DER length"), ("028101AA", "DER length"), ("02010000", "DER trailing bytes"),
    ])
    func errorsSayWhichPartItIs(text: String, part: String) {
        var reader = TLVReader(hex(text), .der)
        do throws(CryptoError) {
            _ = try reader.read(DER.Tag.integer)
            try reader.finish()
            Issue.record("\(text) was read")
        } catch {
            #expect(error.description == "\(part): it is malformed")
        }
    }
}
