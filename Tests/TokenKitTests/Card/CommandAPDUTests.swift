import SecureBytes
import TestSupport
import Testing
import TokenKit

@Suite struct CommandAPDUTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let form: CommandAPDU.Form
        let dataCount: Int
        let expectedLength: Int?
        /// The bytes before the data; ``tail`` has those after it.
        let head: String
        let tail: String
        var testDescription: String { "\(form), \(dataCount) bytes, Le \(expectedLength.map(String.init) ?? "none")" }
    }

    /// The four cases of ISO/IEC 7816-4 in both forms, at their limits.
    static let cases: [Case] = [
        Case(form: .short, dataCount: 0, expectedLength: nil, head: "00CB3FFF", tail: ""),
        Case(form: .short, dataCount: 0, expectedLength: 1, head: "00CB3FFF", tail: "01"),
        Case(form: .short, dataCount: 0, expectedLength: 255, head: "00CB3FFF", tail: "FF"),
        Case(form: .short, dataCount: 0, expectedLength: 256, head: "00CB3FFF", tail: "00"),
        Case(form: .short, dataCount: 1, expectedLength: nil, head: "00CB3FFF01", tail: ""),
        Case(form: .short, dataCount: 255, expectedLength: nil, head: "00CB3FFFFF", tail: ""),
        Case(form: .short, dataCount: 1, expectedLength: 256, head: "00CB3FFF01", tail: "00"),
        Case(form: .short, dataCount: 255, expectedLength: 16, head: "00CB3FFFFF", tail: "10"),
        Case(form: .extended, dataCount: 0, expectedLength: 1, head: "00CB3FFF00", tail: "0001"),
        Case(form: .extended, dataCount: 0, expectedLength: 257, head: "00CB3FFF00", tail: "0101"),
        Case(form: .extended, dataCount: 0, expectedLength: 65_535, head: "00CB3FFF00", tail: "FFFF"),
        Case(form: .extended, dataCount: 0, expectedLength: 65_536, head: "00CB3FFF00", tail: "0000"),
        Case(form: .extended, dataCount: 1, expectedLength: nil, head: "00CB3FFF000001", tail: ""),
        Case(form: .extended, dataCount: 65_535, expectedLength: nil, head: "00CB3FFF00FFFF", tail: ""),
        Case(form: .extended, dataCount: 256, expectedLength: 65_536, head: "00CB3FFF000100", tail: "0000"),
        Case(form: .extended, dataCount: 65_535, expectedLength: 256, head: "00CB3FFF00FFFF", tail: "0100"),
    ]

    @Test(arguments: cases)
    func isWrittenAndReadBack(_ row: Case) throws {
        let data = [UInt8](repeating: 0x5A, count: row.dataCount)
        let command = CommandAPDU(ins: 0xCB, p1: 0x3F, p2: 0xFF, data: data, expectedLength: row.expectedLength)
        let bytes = try command.encoded(row.form)
        #expect(bytes == [UInt8](hex: row.head) + data + [UInt8](hex: row.tail))
        let parsed = try CommandAPDU.parse(bytes)
        #expect(parsed.command == command)
        #expect(parsed.form == row.form)
    }

    @Test func anyLengthTakesAllThatTheFormHasRoomFor() throws {
        let command = CommandAPDU(ins: 0xCB, p1: 0, p2: 0, expectedLength: CommandAPDU.anyLength)
        #expect(try Hex.encode(command.encoded(.short)) == "00CB000000")
        #expect(try Hex.encode(command.encoded(.extended)) == "00CB0000000000")
    }

    @Test(
        arguments: [
            (.short, 256, nil), (.extended, 65_536, nil), (.short, 0, 0), (.short, 0, -1), (.extended, 0, 65_537),
            (.short, 0, Int.max), (.extended, 0, Int.min),
        ] as [(CommandAPDU.Form, Int, Int?)])
    func whatHasNoRoomIsAnError(form: CommandAPDU.Form, dataCount: Int, expectedLength: Int?) {
        let data = [UInt8](repeating: 0, count: dataCount)
        let command = CommandAPDU(ins: 0, p1: 0, p2: 0, data: data, expectedLength: expectedLength)
        #expect(throws: CardError(.invalidCommand, "")) { try command.encoded(form) }
    }

    @Test(arguments: [
        "", "00", "00A404", "00A4040002AA", "00A4040001AABBCC", "00A404000000", "00A4040000000002AA",
        "00A40400000001AABB", "00A40400000001AABBCCDD",
    ])
    func lengthsThatDoNotFitAreMalformed(hex: String) {
        #expect(throws: CardError(.malformed, "")) { try CommandAPDU.parse([UInt8](hex: hex)) }
    }

    /// Every body of up to three bytes, and longer ones at random, is an error or written back as it came.
    @Test func whatIsParsedIsWrittenBack() {
        func holds(_ bytes: [UInt8]) -> Bool {
            guard let (command, form) = try? CommandAPDU.parse(bytes) else { return true }
            return (try? command.encoded(form)) == bytes
        }
        let edges: [UInt8] = [0x00, 0x01, 0x02, 0x7F, 0x80, 0xFE, 0xFF]
        for first in UInt8.min...UInt8.max {
            if !holds([0, 0xA4, 4, 0, first]) { Issue.record("body \(first)") }
            for second in edges {
                for third in edges where !holds([0, 0xA4, 4, 0, first, second, third]) {
                    Issue.record("body \(first) \(second) \(third)")
                }
            }
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...300, using: &generator)
            var body = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            if count > 3, Bool.random(using: &generator) {
                body.replaceSubrange(0..<3, with: [0, UInt8(count >> 8), UInt8(truncatingIfNeeded: count - 3)])
            }
            if !holds([0x10, 0xDB, 0x3F, 0xFF] + body) { Issue.record("\(Hex.encode(body))") }
        }
    }
}

@Suite struct ResponseAPDUTests {
    @Test(arguments: ["9000", "016A82", "0102039000"])
    func isWrittenBackAsItCame(hex: String) throws {
        let bytes = [UInt8](hex: hex)
        let response = try ResponseAPDU(parsing: bytes)
        #expect(response.data == Array(bytes.dropLast(2)))
        #expect(response.encoded() == bytes)
        #expect(ResponseAPDU(data: response.data, status: response.status) == response)
    }

    @Test(arguments: ["", "90"])
    func fewerBytesThanAStatusWordAreMalformed(hex: String) {
        #expect(throws: CardError(.malformed, "")) { try ResponseAPDU(parsing: [UInt8](hex: hex)) }
    }

    @Test func theLongestHasSixtyFourKilobytesAndAStatusWord() throws {
        let longest = [UInt8](repeating: 0x90, count: ResponseAPDU.maximumLength)
        #expect(try ResponseAPDU(parsing: longest).data.count == 65_536)
        #expect(throws: CardError(.malformed, "")) { try ResponseAPDU(parsing: longest + [0]) }
    }
}
