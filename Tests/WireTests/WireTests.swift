import Testing

@testable import Wire

/// Messages between a client and the host: only messages that are written are read.
@Suite struct WireTests {
    static let calls: [PKCS11Call] = [
        PKCS11Call(.finalize),
        PKCS11Call(.getSlotList, [1, 0]),
        PKCS11Call(.login, [1, 1, PKCS11Call.null]),
        PKCS11Call(.signInit, [1, 2], PKCS11Mechanism(0x1041)),
        PKCS11Call(
            .signInit, [1, 2], PKCS11Mechanism(0x0D, .structure(numbers: [0x250, 2, 32], strings: []))),
        PKCS11Call(
            .deriveKey, [1, 2], PKCS11Mechanism(0x1050, .structure(numbers: [1], strings: [[], [4, 1, 2]])),
            [[PKCS11Attribute(0, .bytes([4, 0, 0, 0])), PKCS11Attribute(0x11, .secret(count: 32))]]),
        PKCS11Call(.encryptInit, [1, 2], PKCS11Mechanism(0x1054, .withheld)),
        PKCS11Call(.generateKeyPair, [9], PKCS11Mechanism(0x1040), [[PKCS11Attribute(0x180, .bytes([6, 1, 2]))], []]),
    ]

    @Test(arguments: calls) func aCallIsReadAsItWasWritten(call: PKCS11Call) throws {
        #expect(try PKCS11Call(parsing: call.encoded()) == call)
    }

    static let answers: [PKCS11Answer] = [
        PKCS11Answer(0), PKCS11Answer(0x150, numbers: [64]),
        PKCS11Answer(0, numbers: [1, 2, .max], text: Array("Reader".utf8), notes: [Array("CKR_OK".utf8), []]),
    ]

    @Test(arguments: answers) func anAnswerIsReadAsItWasWritten(answer: PKCS11Answer) throws {
        #expect(try PKCS11Answer(parsing: answer.encoded()) == answer)
    }

    private static let hello = Hello(
        firstHandle: 1 << 32, wantsNotes: true, libraryPath: Array("/lib/x.so".utf8),
        environment: [Array("HOME=/root".utf8), []])

    @Test func aGreetingIsReadAsItWasWritten() throws {
        #expect(try Hello(parsing: WireTests.hello.encoded()) == WireTests.hello)
        let ticket = Ticket(high: .max, low: 1)
        #expect(try Ticket(parsing: ticket.encoded()) == ticket)
        for answer in [
            HelloAnswer.served(version: 1), .otherVersion, .otherEnvironment, .busy,
            .servedRemotely(version: 1, ticket: ticket),
        ] {
            #expect(try HelloAnswer(parsing: answer.encoded()) == answer)
        }
    }

    @Test func aHeaderIsReadAsItWasWritten() throws {
        let header = FrameHeader(.request, number: .max, fieldCount: 7, secretCount: FrameHeader.maximumSecrets)
        #expect(header.encoded().count == FrameHeader.byteCount)
        #expect(try FrameHeader(parsing: header.encoded()) == header)
    }

    /// Every message that is cut short, or has a byte more, is refused.
    @Test func nothingIsMissingAndNothingFollows() {
        for bytes in WireTests.calls.map({ $0.encoded() }) {
            for count in 0..<bytes.count {
                #expect(throws: WireError.self) { try PKCS11Call(parsing: Array(bytes.prefix(count))) }
            }
            #expect(throws: WireError.trailingBytes) { try PKCS11Call(parsing: bytes + [0]) }
        }
        for bytes in WireTests.answers.map({ $0.encoded() }) {
            for count in 0..<bytes.count {
                #expect(throws: WireError.self) { try PKCS11Answer(parsing: Array(bytes.prefix(count))) }
            }
            #expect(throws: WireError.trailingBytes) { try PKCS11Answer(parsing: bytes + [0]) }
        }
    }

    /// A message has one form: every message that is read is written the same way.
    @Test func everyByteCounts() {
        for bytes in WireTests.calls.map({ $0.encoded() }) {
            for index in bytes.indices {
                for value in [0, 1, 2, 0x7F, 0x80, 0xFF] as [UInt8] {
                    var changed = bytes
                    changed[index] = value
                    guard let call = try? PKCS11Call(parsing: changed) else { continue }
                    #expect(call.encoded() == changed)
                }
            }
        }
    }

    @Test func randomBytesAreReadAsTheyWouldBeWrittenOrNotAtAll() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...64, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...(Bool.random() ? 3 : 255), using: &generator) }
            if let call = try? PKCS11Call(parsing: bytes) { #expect(call.encoded() == bytes) }
            if let answer = try? PKCS11Answer(parsing: bytes) { #expect(answer.encoded() == bytes) }
            if let hello = try? Hello(parsing: bytes) { #expect(hello.encoded() == bytes) }
            if let header = try? FrameHeader(parsing: bytes) { #expect(header.encoded() == bytes) }
        }
    }

    @Test func aHeaderThatPromisesMoreThanAMessageMayHaveIsRefused() {
        for (fields, secrets) in [(FrameHeader.maximumFields + 1, 0), (0, FrameHeader.maximumSecrets + 1), (.max, 0)] {
            let header = FrameHeader(.request, number: 1, fieldCount: fields, secretCount: secrets).encoded()
            #expect(throws: WireError.malformed) { try FrameHeader(parsing: header) }
        }
        for kind: UInt8 in [0, 15, 255] {
            let unknown = [kind] + [UInt8](repeating: 0, count: 15)
            #expect(throws: WireError.malformed) { try FrameHeader(parsing: unknown) }
        }
        let reserved: [UInt8] = [3, 1] + Array(repeating: 0, count: 14)
        #expect(throws: WireError.malformed) { try FrameHeader(parsing: reserved) }
    }

    /// A count is checked against the size of the message.
    @Test func aCountWithoutItsElementsTakesNoMemory() {
        var writer = FieldWriter()
        writer.append(PKCS11Function.getSlotList.rawValue)
        writer.append(count: Int(UInt32.max))
        #expect(throws: WireError.truncated) { try PKCS11Call(parsing: writer.bytes) }
    }

    /// A value that may be a secret has to be among the secrets, which are wiped, and is refused elsewhere.
    @Test func theValueOfAPrivateKeyIsNoField() {
        for type in [0x11, 0x123, 0x124, 0x128] as [UInt64] {
            let call = PKCS11Call(.createObject, [1], nil, [[PKCS11Attribute(type, .bytes([1, 2, 3]))]])
            #expect(throws: WireError.malformed) { try PKCS11Call(parsing: call.encoded()) }
        }
        let call = PKCS11Call(.createObject, [1], nil, [[PKCS11Attribute(0x102, .secret(count: 1))]])
        #expect(throws: WireError.malformed) { try PKCS11Call(parsing: call.encoded()) }
    }
}
