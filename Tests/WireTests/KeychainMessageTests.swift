import Testing

@testable import Wire

/// Messages between the C library and the host: only messages that are written are read.
@Suite struct KeychainMessageTests {
    static let calls: [KeychainCall] = [
        KeychainCall(.lockAll, allowsQuestions: true),
        KeychainCall(.path, allowsQuestions: false, keychain: Array("login".utf8)),
        KeychainCall(.create, allowsQuestions: true, hasPassword: true, keychain: Array("/tmp/login.keychain".utf8)),
        KeychainCall(
            .find, allowsQuestions: true, hasPassword: true, keychain: [], itemClass: 0x6765_6E70,
            attributes: [KeychainAttribute(0x7376_6365, Array("mail".utf8)), KeychainAttribute(0x6163_6374, [])]),
        KeychainCall(.content, allowsQuestions: true, item: [1, 2, 3], attributes: [KeychainAttribute(.max, nil)]),
        KeychainCall(.copy, allowsQuestions: true, keychain: [0x61], target: [0x62], item: [9]),
        KeychainCall(.setAccess, allowsQuestions: true, item: [1], access: []),
        KeychainCall(.add, allowsQuestions: false, access: programs),
    ]

    private static let programs: [KeychainProgram] = [
        .any, .asking, .path(Array("/usr/bin/mailer".utf8)), .decided(path: [], identity: [2, 0xFF]),
    ]

    @Test(arguments: calls) func aCallIsReadAsItWasWritten(call: KeychainCall) throws {
        #expect(try KeychainCall(parsing: call.encoded()) == call)
    }

    static let answers: [KeychainAnswer] = [
        KeychainAnswer(), KeychainAnswer(code: -25300, reason: Array("no item matches".utf8), notes: [[], [0x61]]),
        KeychainAnswer(path: Array("/tmp/login.keychain".utf8), number: 7),
        KeychainAnswer(
            items: [KeychainItem(keychain: [0x61], reference: [1]), KeychainItem(keychain: [], reference: [])],
            attributes: [KeychainAttribute(1, nil), KeychainAttribute(2, [3])]),
        KeychainAnswer(programs: programs),
    ]

    @Test(arguments: answers) func anAnswerIsReadAsItWasWritten(answer: KeychainAnswer) throws {
        #expect(try KeychainAnswer(parsing: answer.encoded()) == answer)
    }

    private static let hello = KeychainHello(
        wantsNotes: true, hasMoreRights: false, environment: [Array("HOME=/root".utf8), []])

    @Test func aGreetingIsReadAsItWasWritten() throws {
        #expect(try KeychainHello(parsing: Self.hello.encoded()) == Self.hello)
    }

    /// Every message that is cut short, or has a byte more, is refused.
    @Test func nothingIsMissingAndNothingFollows() {
        func check(_ bytes: [UInt8], former: [UInt8]? = nil, _ parse: ([UInt8]) throws -> Void) {
            for count in 0..<bytes.count where count != former?.count {
                #expect(throws: WireError.self) { try parse(Array(bytes.prefix(count))) }
            }
            #expect(throws: bytes == former ? WireError.truncated : .trailingBytes) { try parse(bytes + [0]) }
        }
        for call in Self.calls {
            check(call.encoded(), former: Self.former(call).encoded()) { _ = try KeychainCall(parsing: $0) }
        }
        for answer in Self.answers {
            check(answer.encoded(), former: Self.former(answer).encoded()) { _ = try KeychainAnswer(parsing: $0) }
        }
        check(Self.hello.encoded()) { _ = try KeychainHello(parsing: $0) }
    }

    private static func former(_ call: KeychainCall) -> KeychainCall {
        var former = call
        former.access = nil
        return former
    }

    private static func former(_ answer: KeychainAnswer) -> KeychainAnswer {
        var former = answer
        former.programs = nil
        return former
    }

    /// Messages as the first version wrote them: a call to lock all keychains, and an answer that is empty.
    @Test func messagesOfTheFirstVersionAreReadAndWrittenAsTheyWere() throws {
        let call: [UInt8] =
            [7, 0, 0, 0, 0, 0, 0, 0, 1, 0] + [0, 0] + [0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0]
        #expect(KeychainCall(.lockAll, allowsQuestions: true).encoded() == call)
        #expect(try KeychainCall(parsing: call) == KeychainCall(.lockAll, allowsQuestions: true))
        for message in Self.calls where message.access != nil {
            #expect(message.encoded().starts(with: Self.former(message).encoded()))
        }
        for message in Self.answers where message.programs != nil {
            #expect(message.encoded().starts(with: Self.former(message).encoded()))
        }
    }

    /// A message has one form: every message that is read is written the same way.
    @Test func everyByteCounts() {
        func check(_ bytes: [UInt8], _ rewritten: ([UInt8]) -> [UInt8]?) {
            for index in bytes.indices {
                for value in [0, 1, 2, 0x7F, 0x80, 0xFF] as [UInt8] {
                    var changed = bytes
                    changed[index] = value
                    if let written = rewritten(changed) { #expect(written == changed) }
                }
            }
        }
        for call in Self.calls { check(call.encoded()) { try? KeychainCall(parsing: $0).encoded() } }
        for answer in Self.answers { check(answer.encoded()) { try? KeychainAnswer(parsing: $0).encoded() } }
        check(Self.hello.encoded()) { try? KeychainHello(parsing: $0).encoded() }
    }

    @Test func randomBytesAreReadAsTheyWouldBeWrittenOrNotAtAll() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...64, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...(Bool.random() ? 3 : 255), using: &generator) }
            if let call = try? KeychainCall(parsing: bytes) { #expect(call.encoded() == bytes) }
            if let answer = try? KeychainAnswer(parsing: bytes) { #expect(answer.encoded() == bytes) }
            if let hello = try? KeychainHello(parsing: bytes) { #expect(hello.encoded() == bytes) }
        }
    }

    /// A count is checked against the size of the message, and a code against its type.
    @Test func whatNoMessageHasIsRefused() {
        var writer = FieldWriter()
        writer.append(UInt64(UInt32.max) + 1)
        #expect(throws: WireError.malformed) { try KeychainAnswer(parsing: writer.bytes) }
        var unknown = KeychainCall(.lockAll, allowsQuestions: true).encoded()
        unknown[0] = UInt8(KeychainFunction.allCases.count + 1)
        #expect(throws: WireError.malformed) { try KeychainCall(parsing: unknown) }
        let attributes = KeychainCall(.content, allowsQuestions: true).encoded().dropLast(4)
        #expect(throws: WireError.truncated) { try KeychainCall(parsing: attributes + [0xFF, 0xFF, 0xFF, 0xFF]) }
    }
}
