import Glibc
import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

/// A card in system time whose key 9E needs a touch, and the command that waits for it.
private func waitingCard() throws -> (card: VirtualCard, sign: [UInt8]) {
    let conversation = CardConversation(try VirtualCard(profile: .yubiKey57))
    try conversation.select()
    try conversation.authenticate()
    _ = try conversation.generate(.p256, at: 0x9E, policies: [0xAB, 0x01, 0x02])
    let template = TLV(0x7C, [TLV(0x82, [UInt8]()), TLV(0x81, [UInt8](repeating: 1, count: 32))]).encoded()
    return (conversation.card, [0x00, 0x87, 0x11, 0x9E, UInt8(template.count)] + template + [0x00])
}

@Suite struct TouchWaitTests {
    /// Runs `body` on another thread once the card waits.
    private func meanwhile(_ card: VirtualCard, _ body: @escaping @Sendable () -> Void) throws -> Worker {
        try Worker {
            while !card.awaitsTouch { usleep(1000) }
            body()
        }
    }

    @Test func aTouchEndsTheWait() throws {
        let (card, sign) = try waitingCard()
        let other = try meanwhile(card) { card.touch() }
        #expect(card.process(sign).suffix(2) == [0x90, 0x00])
        other.join()
        #expect(!card.awaitsTouch)
    }

    @Test func resetEndsTheWait() throws {
        let (card, sign) = try waitingCard()
        let other = try meanwhile(card) { card.reset() }
        #expect(card.process(sign) == [0x69, 0x82])
        other.join()
    }

    @Test func takingTheCardOutEndsTheWait() throws {
        let (card, sign) = try waitingCard()
        let reader = VirtualReader(card: card)
        let connection = try reader.connect(trace: nil)
        let other = try meanwhile(card) { reader.remove() }
        #expect(throws: TokenError(.card(.removed), "")) {
            try connection.withTransaction { (transaction) throws(TokenError) in
                let command = CommandAPDU(
                    ins: 0x87, p1: 0x11, p2: 0x9E, data: Array(sign[5..<sign.count - 1]), expectedLength: 256)
                _ = try transaction.exchange(command)
            }
        }
        other.join()
    }

    @Test func anInterruptionDoesNotOutliveItsWait() throws {
        let (card, sign) = try waitingCard()
        card.stopWaiting()
        card.touch()
        #expect(card.process(sign).suffix(2) == [0x90, 0x00])
    }
}
