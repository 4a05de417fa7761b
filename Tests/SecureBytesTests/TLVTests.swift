import TestSupport
import Testing

@testable import SecureBytes

@Suite struct TLVTests {
    @Test(
        arguments: [
            ("5300", 0x53, ""),
            ("53 03 010203", 0x53, "010203"),
            ("5F2F 02 4000", 0x5F2F, "4000"),
            ("5FC102 01 AA", 0x5FC102, "AA"),
            ("7F49 00", 0x7F49, ""),
            ("1F818203 01 FF", 0x1F81_8203, "FF"),
            ("53 81 01 AA", 0x53, "AA"),
            ("53 82 0001 AA", 0x53, "AA"),
            ("53 83 000001 AA", 0x53, "AA"),
            ("00 00", 0x00, ""),
            ("FF00 00", 0xFF00, ""),
        ] as [(String, UInt32, String)])
    func aDataObjectIsReadAndWrittenBack(hex: String, tag: UInt32, value: String) throws {
        let bytes = [UInt8](hex: hex)
        var reader = TLVReader(bytes)
        let element = try #require(try reader.next())
        #expect(element == TLV(TLVTag(rawValue: tag), [UInt8](hex: value)))
        #expect(element.encoded() == bytes)
        try reader.end()
    }

    @Test(
        arguments: [
            ("53", .truncated), ("5F", .truncated), ("5FC1", .truncated), ("5302AA", .truncated), ("5381", .truncated),
            ("538200", .truncated), ("53820002AA", .truncated), ("5383FFFFFF", .truncated),
            ("5380", .indefiniteLength), ("53800000", .indefiniteLength),
            ("538400000001AA", .lengthTooLong), ("53FF", .lengthTooLong), ("5385", .lengthTooLong),
            ("1F81828300", .tagTooLong), ("FFFFFFFFFF", .tagTooLong),
        ] as [(String, TLVError.Code)])
    func brokenDataObjectsAreErrorsAndNothingIsRead(hex: String, code: TLVError.Code) {
        let bytes = [UInt8](hex: hex)
        var reader = TLVReader(bytes)
        #expect(throws: TLVError(code)) { try reader.next() }
        #expect(Array(reader.remainder) == bytes)
    }

    @Test(
        arguments: [
            (0, "5300"), (127, "537F"), (128, "538180"), (255, "5381FF"), (256, "53820100"), (65_535, "5382FFFF"),
            (65_536, "5383010000"), (0xFF_FFFF, "5383FFFFFF"), (0x100_0000, "538401000000"),
        ] as [(Int, String)])
    func theShortestLengthIsWritten(count: Int, header: String) {
        let encoded = TLV(0x53, [UInt8](repeating: 0, count: count)).encoded()
        #expect(Hex.encode(encoded.prefix(header.count / 2)) == header)
        #expect(encoded.count == header.count / 2 + count)
    }

    @Test func theLengthKeepsTheFormItWasReadInAtEveryLevel() throws {
        let bytes = [UInt8](hex: "70820007 71820003 710101")
        let element = try TLVReader.only(0x70, in: bytes)
        #expect(element.encoded() == bytes)
        var children = try element.children()
        #expect(try children.require(0x71).encoded() == Array(bytes[4...]))
        #expect(element == TLV(0x70, Array(bytes[4...])))
    }

    @Test func childrenMakeAConstructedObject() throws {
        let none: [UInt8] = []
        let element = TLV(0x7C, [TLV(0x82, none), TLV(0x81, [1, 2, 3])])
        #expect(Hex.encode(element.encoded()) == "7C0782008103010203")
        var children = try element.children()
        #expect(try children.require(0x82) == TLV(0x82, none))
        #expect(try children.require(0x81).value == [1, 2, 3])
        #expect(children.isAtEnd)
        try children.end()
    }

    @Test func anObjectIsTheSameWhereverItWasFound() throws {
        var outer = try TLVReader.only(0x7C, in: [UInt8](hex: "7C03810105")).children()
        let inner = try outer.require(0x81)
        #expect(inner == TLV(0x81, [5]))
        #expect(Set([inner, TLV(0x81, [5])]).count == 1)
    }

    @Test func nestingEndsAtItsLimit() throws {
        func nested(_ levels: Int) -> [UInt8] {
            (0..<levels).reduce([]) { inner, _ in TLV(0x70, inner).encoded() }
        }
        func descend(_ bytes: [UInt8]) throws -> Int {
            var reader = TLVReader(bytes)
            var levels = 0
            while let element = try reader.next() {
                levels += 1
                reader = try element.children()
            }
            return levels
        }
        #expect(try descend(nested(TLVReader.maximumDepth)) == TLVReader.maximumDepth)
        #expect(throws: TLVError(.tooDeep)) { try descend(nested(TLVReader.maximumDepth + 1)) }
        #expect(throws: TLVError(.tooDeep)) { try descend(nested(5_000)) }
    }

    @Test func anOptionalObjectThatIsAbsentLeavesTheReaderWhereItWas() throws {
        var reader = TLVReader([UInt8](hex: "5301AA 5401BB"))
        #expect(try reader.next(0x54) == nil)
        #expect(try reader.next(0x53)?.value == [0xAA])
        #expect(throws: TLVError(.missing)) { try reader.require(0x53) }
        #expect(try reader.require(0x54).value == [0xBB])
        #expect(try reader.next(0x54) == nil)
        #expect(throws: TLVError(.missing)) { try reader.require(0x54) }
    }

    @Test func leftoversAreRefused() {
        #expect(throws: TLVError(.trailingBytes)) { try TLVReader.only(0x53, in: [UInt8](hex: "530100 00")) }
        #expect(throws: TLVError(.missing)) { try TLVReader.only(0x53, in: [UInt8](hex: "540100")) }
        #expect(throws: TLVError(.missing)) { try TLVReader.only(0x53, in: []) }
    }

    @Test func allStopsAtTheFirstBrokenObject() throws {
        var whole = TLVReader([UInt8](hex: "5300 5401BB"))
        #expect(try whole.all() == [TLV(0x53, [] as [UInt8]), TLV(0x54, [0xBB])])
        var broken = TLVReader([UInt8](hex: "5300 5402BB"))
        #expect(throws: TLVError(.truncated)) { try broken.all() }
    }

    @Test(arguments: [0x00, 0x53, 0x7F49, 0x5FC102, 0x1F81_8203] as [UInt32])
    func aTagIsItsOctets(rawValue: UInt32) {
        let tag = TLVTag(rawValue: rawValue)
        #expect(tag.octets.reduce(0) { $0 << 8 | UInt32($1) } == rawValue)
        #expect(tag.octets.count == max(1, (32 - rawValue.leadingZeroBitCount + 7) / 8))
        #expect(tag.description == Hex.encode(tag.octets))
    }

    @Test func anErrorSaysWhatAndWhere() {
        #expect(TLVError(.missing, tag: 0x5FC102).description == "data object missing (tag 5FC102)")
        #expect(TLVError(.truncated).description == "data object ends early")
        #expect(TLVError(.missing, tag: 0x53) == TLVError(.missing))
    }
}

/// Every input is an error or is written back as it came: no input traps, none is malleable.
@Suite struct TLVRoundTripTests {
    /// Reads all of `bytes`, data objects in data objects included, and compares with what they encode to.
    private static func isWrittenBackOrRefused(_ bytes: [UInt8]) -> Bool {
        var reader = TLVReader(bytes)
        guard let elements = try? reader.all() else { return true }
        return elements.flatMap { $0.encoded() } == bytes
            && elements.allSatisfy { element in
                guard var children = try? element.children(), let inner = try? children.all() else { return true }
                return inner.flatMap { $0.encoded() } == element.value
            }
    }

    @Test func everyInputOfUpToTwoBytes() {
        #expect(Self.isWrittenBackOrRefused([]))
        for first in UInt8.min...UInt8.max {
            #expect(Self.isWrittenBackOrRefused([first]))
            let failures = (UInt8.min...UInt8.max).filter { !Self.isWrittenBackOrRefused([first, $0]) }
            #expect(failures.isEmpty, "after \(first)")
        }
    }

    /// Octets at which a tag or a length changes its meaning.
    private static let edges: [UInt8] = [
        0x00, 0x01, 0x02, 0x1E, 0x1F, 0x3F, 0x53, 0x5F, 0x70, 0x7F, 0x80, 0x81, 0x82, 0x83, 0x84, 0x9F, 0xBF, 0xC1,
        0xFE,
        0xFF,
    ]

    @Test(arguments: edges)
    func everyPairOfBytesAfterAnEdge(first: UInt8) {
        for second in UInt8.min...UInt8.max {
            let failures = Self.edges.filter { third in
                !Self.isWrittenBackOrRefused([first, second, third])
            }
            #expect(failures.isEmpty, "after \(first), \(second)")
        }
    }

    @Test func edgesInFourAndFivePlaces() {
        let edges: [UInt8] = [0x00, 0x01, 0x02, 0x1F, 0x53, 0x7F, 0x80, 0x81, 0x82, 0x83, 0x84, 0xFF]
        for first in edges {
            for second in edges {
                for third in edges {
                    for fourth in edges {
                        let four = [first, second, third, fourth]
                        if !Self.isWrittenBackOrRefused(four) { Issue.record("\(Hex.encode(four))") }
                        if !Self.isWrittenBackOrRefused(four + [0x00]) { Issue.record("\(Hex.encode(four))00") }
                    }
                }
            }
        }
    }

    @Test func randomObjectsInObjects() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let bytes = Self.randomObjects(depth: 3, using: &generator)
            var reader = TLVReader(bytes)
            #expect((try? reader.all()) != nil)
            #expect(Self.isWrittenBackOrRefused(bytes))
            var damaged = bytes
            if let index = damaged.indices.randomElement(using: &generator) {
                damaged[index] = UInt8.random(in: .min ... .max, using: &generator)
            }
            #expect(Self.isWrittenBackOrRefused(damaged), "\(Hex.encode(damaged))")
        }
    }

    private static func randomObjects(depth: Int, using generator: inout SystemRandomNumberGenerator) -> [UInt8] {
        let tags: [TLVTag] = [0x53, 0x70, 0x7F49, 0x5FC102, 0x1F81_8203, 0x80]
        return (0..<Int.random(in: 0...3, using: &generator)).flatMap { _ in
            let value =
                depth == 0
                ? [UInt8](repeating: 0xA5, count: .random(in: 0...300, using: &generator))
                : randomObjects(depth: depth - 1, using: &generator)
            return TLV(tags.randomElement(using: &generator) ?? 0x53, value).encoded()
        }
    }
}
