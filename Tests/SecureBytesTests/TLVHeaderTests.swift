import TestSupport
import Testing

@testable import SecureBytes

@Suite struct TLVHeaderTests {
    @Test(
        arguments: [
            ("0500", 0x05, 2..<2), ("0403010203", 0x04, 2..<5), ("0401AA05", 0x04, 2..<3),
            ("308180" + String(repeating: "00", count: 128), 0x30, 3..<131),
            ("30820100" + String(repeating: "00", count: 256), 0x30, 4..<260), ("A00100", 0xA0, 2..<3),
        ] as [(String, UInt32, Range<Int>)])
    func theValueIsFound(text: String, tag: UInt32, value: Range<Int>) throws {
        let bytes = [UInt8](hex: text)
        for rules in [TLVRules.der, .card] {
            let header = try TLVHeader(bytes.span, rules)
            #expect(header.tag == TLVTag(rawValue: tag))
            #expect(header.count == value.lowerBound)
            #expect(try header.value(in: bytes.span) == value)
        }
    }

    @Test(
        arguments: [
            ("30", .truncated, "no length"), ("3001", .truncated, "content missing"),
            ("3080", .indefiniteLength, "indefinite length"),
            ("308001020000", .indefiniteLength, "indefinite length with end"),
            ("30817F", .lengthNotShortest, "long form of a short length"),
            ("3081800000", .truncated, "content shorter than its length"),
            ("30820001", .lengthNotShortest, "leading zero in the length"),
            ("3085000000000100", .lengthTooLong, "five octets of length"), ("3084FFFFFFFF", .truncated, "4 GiB"),
            ("1F0100", .tagTooLong, "tag of two bytes"), ("30FF", .lengthTooLong, "reserved length"),
            ("3082", .truncated, "length cut off"),
        ] as [(String, TLVError.Code, Comment)])
    func derIsStrict(text: String, code: TLVError.Code, why: Comment) {
        let bytes = [UInt8](hex: text)
        var reader = TLVReader(bytes, .der)
        #expect(throws: TLVError(code), why) { try reader.next() }
        #expect(Array(reader.remainder) == bytes, why)
    }

    @Test func onlyDERTakesFourOctetsOfLength() throws {
        let bytes = [UInt8](hex: "3084 01000000") + [UInt8](repeating: 0, count: 0x100_0000)
        #expect(try TLVReader.only(0x30, in: bytes, .der).encoded() == bytes)
        #expect(throws: TLVError(.lengthTooLong)) { try TLVReader.only(0x30, in: bytes) }
    }

    @Test func singleOctetsOfTagAndLength() throws {
        let bytes = [UInt8](hex: "1F 01 AA 06 80") + [UInt8](repeating: 0xBB, count: 128)
        var reader = TLVReader(bytes, .octets)
        let elements = try reader.all()
        #expect(elements.map(\.tag) == [0x1F, 0x06])
        #expect(elements.map(\.value.count) == [1, 128])
        #expect(elements.flatMap { $0.encoded() } == bytes)
        var cut = TLVReader(bytes.dropLast(), .octets)
        #expect(try cut.next() != nil)
        #expect(throws: TLVError(.truncated)) { try cut.next() }
    }

    @Test func theRulesHoldInsideToo() throws {
        let bytes = [UInt8](hex: "30 03 048101")
        var card = try TLVReader.only(0x30, in: bytes).children()
        #expect(throws: TLVError(.truncated)) { try card.next() }
        var der = try TLVReader.only(0x30, in: bytes, .der).children()
        #expect(throws: TLVError(.lengthNotShortest)) { try der.next() }
    }

    @Test func lengthsAtTheEdgeOfTheBytes() {
        for count in 0..<6 {
            let bytes = [0x04, 0x04] + [UInt8](repeating: 0, count: count)
            for rules in [TLVRules.der, .card, .octets] {
                let value = (try? TLVHeader(bytes.span, rules)).flatMap { try? $0.value(in: bytes.span) }
                #expect(value == (count >= 4 ? 2..<6 : nil))
            }
        }
    }

    @Test func aHeaderThatIsWholeSaysNothingOfOtherBytes() throws {
        let header = try TLVHeader([0x53, 0x81, 0xAA].span, .card)
        #expect(header.count == 3)
        let none: [UInt8] = []
        #expect(throws: TLVError(.truncated)) { try header.value(in: none.span) }
        #expect(throws: TLVError(.truncated)) { try header.value(in: [0x53, 0x81].span) }
        #expect(throws: TLVError(.truncated)) { try TLVHeader(none.span, .card) }
    }

    /// DER accepts only the bytes that would be written: there is no second form.
    @Test func noInputOfDERIsMalleable() {
        func isCanonicalOrRefused(_ bytes: [UInt8]) -> Bool {
            var reader = TLVReader(bytes, .der)
            guard let elements = try? reader.all() else { return true }
            return elements.flatMap { TLV($0.tag, $0.value).encoded() } == bytes
        }
        let edges: [UInt8] = [0x00, 0x01, 0x02, 0x1F, 0x30, 0x7F, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0xFF]
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let failures = edges.filter { !isCanonicalOrRefused([first, second, $0]) }
                #expect(failures.isEmpty && isCanonicalOrRefused([first, second]), "after \(first), \(second)")
            }
        }
        for length in 0...300 {
            for octets in (length < 0x100 ? 1 : 2)...4 {
                let digits = (0..<octets).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
                let bytes = [0x04, 0x80 | UInt8(octets)] + digits + [UInt8](repeating: 0xA5, count: length)
                #expect(isCanonicalOrRefused(bytes), "\(length) in \(octets) octets")
                let isShortest = length >= 0x80 && digits[0] != 0
                #expect(((try? TLVReader.only(0x04, in: bytes, .der)) != nil) == isShortest)
            }
        }
    }
}

/// Data objects that are secrets, which are read without an array.
@Suite struct SecretTLVTests {
    @Test func valuesAreTakenOneByOne() throws {
        let bytes = [UInt8](hex: "7C 07 0201 01 8202 AABB 0500")
        var rest = bytes.span
        var fields = try rest.readTLV(0x7C, .card)
        let left = rest.count
        #expect(left == 2)
        let version = try fields.readTLV(0x02, .card)
        let value = version[0]
        #expect(value == 1)
        let octets = try fields.readTLV(0x82, .card)
        let copied = octets.indices.map { octets[$0] }
        #expect(copied == [0xAA, 0xBB])
        let isEmpty = fields.isEmpty
        #expect(isEmpty)
    }

    @Test(
        arguments: [("0401AA", .missing), ("", .missing), ("0202AA", .truncated), ("02817F", .lengthNotShortest)]
            as [(String, TLVError.Code)])
    func nothingIsTakenWhereItFails(text: String, code: TLVError.Code) {
        let bytes = [UInt8](hex: text)
        var rest = bytes.span
        do {
            _ = try rest.readTLV(0x02, .der)
            Issue.record("\(text) was read as an integer")
        } catch {
            #expect(error == TLVError(code))
        }
        let left = rest.count
        #expect(left == bytes.count)
    }
}
