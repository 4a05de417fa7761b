import Testing

@testable import SystemCrypto

@Suite struct DERHeaderTests {
    @Test(
        arguments: [
            ("0500", 0x05, 2..<2), ("0403010203", 0x04, 2..<5), ("0401AA05", 0x04, 2..<3),
            ("308180" + String(repeating: "00", count: 128), 0x30, 3..<131),
            ("30820100" + String(repeating: "00", count: 256), 0x30, 4..<260), ("A00100", 0xA0, 2..<3),
        ] as [(String, UInt8, Range<Int>)])
    func contentIsFound(text: String, tag: UInt8, content: Range<Int>) throws {
        let bytes = hex(text)
        let header = try DERHeader(bytes.span)
        #expect(header.tag == tag)
        #expect(header.content == content)
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
        let octets = try fields.readDER(DER.Tag.octetString)
        let copied = octets.indices.map { octets[$0] }
        #expect(copied == [0xAA, 0xBB])
        let isEmpty = fields.isEmpty
        #expect(isEmpty)
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

    @Test func lengthsAtTheEdgeOfTheBytes() {
        for count in 0..<6 {
            let bytes = [0x04, 0x04] + [UInt8](repeating: 0, count: count)
            let isWhole = (try? DERHeader(bytes.span)) != nil
            #expect(isWhole == (count >= 4))
        }
    }
}
