import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

extension RejectedPINs {
    fileprivate func has(_ text: String, _ reference: PINReference, _ triesLeft: Int) -> Bool {
        contains(block(text), of: reference, triesLeft: triesLeft)
    }
}

private func block(_ text: String) -> Secret {
    var bytes = Array(text.utf8)
    return Secret(consuming: &bytes)
}

/// What programs tell one another of values that a card refused.
@Suite struct RejectedPINsTests {
    @Test func aValueIsWrongForAsLongAsTheCardHasNoMoreTries() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(block("111111"), of: .application, triesLeft: 2)
        #expect(rejected.has("111111", .application, 2))
        #expect(rejected.has("111111", .application, 1))
        #expect(!rejected.has("111111", .application, 3))
        #expect(!rejected.has("111111", .unblocking, 2))
        #expect(!rejected.has("111112", .application, 2))
    }

    @Test func whatIsWrittenIsReadAndAnythingElseIsNot() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(block("111111"), of: .application, triesLeft: 2)
        let bytes = rejected.encoded
        let read = try #require(RejectedPINs(parsing: bytes))
        #expect(read.has("111111", .application, 2))
        for count in [0, 1, 32, bytes.count - 1] { #expect(RejectedPINs(parsing: Array(bytes.prefix(count))) == nil) }
        #expect(RejectedPINs(parsing: [9] + bytes.dropFirst()) == nil)
        #expect(RejectedPINs(parsing: bytes + [0]) == nil)
    }

    @Test func onlySoManyAreKept() throws {
        var rejected = try #require(RejectedPINs())
        for number in 100_000..<100_100 { rejected.insert(block(String(number)), of: .application, triesLeft: 2) }
        #expect(rejected.encoded.count == 1 + 32 + 32 * 34)
        #expect(rejected.has("100099", .application, 2))
        #expect(!rejected.has("100000", .application, 2))
    }
}

/// Programs that come one after the other, none of which asks which card it is.
@Suite struct RejectedPINMemoryTests {
    private let desk: Desk
    private let memory = VolatileMemory()

    init() throws {
        desk = try Desk()
    }

    private var program: Desk { desk.anotherProgram(rejectedPINs: memory) }

    @Test func whatOneProgramHadRefusedTheNextDoesNotSend() throws {
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111111") }
        #expect(memory.all().count == 1)
        let sent = desk.pinsSent
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.verify("111111") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) {
            _ = try program.perform("9A", .sign(.ecdsa, [1]), pin: "111111")
        }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.change(from: "111111", to: "222222") }
        #expect(desk.pinsSent == sent)
        #expect(try program.status().triesLeft == 2)
        try program.verify()
    }

    @Test func theRightPINCostsNoCommandMoreForIt() throws {
        desk.forgetCommands()
        try program.verify()
        let cost = desk.commands
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.verify("111111") }
        desk.forgetCommands()
        try program.verify()
        #expect(desk.commands == cost)
    }

    @Test func whatAnotherCardRefusedMayBeRightHere() throws {
        let other = try Desk(IssuedCard())
        #expect(throws: TokenError(.pinIncorrect, "")) {
            try other.anotherProgram(rejectedPINs: memory).verify("654321")
        }
        try desk.change(from: "123456", to: "654321")
        try program.verify("654321")
    }
}
