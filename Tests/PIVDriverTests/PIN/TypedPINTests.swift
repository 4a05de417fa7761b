import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

/// A PIN that is typed on the reader: the card is asked as for any other PIN, and the reader has status words of its own.
@Suite struct TypedPINTests {
    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    private func token(_ card: SmallCard) throws -> any Token {
        var transaction = card.transaction()
        return try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
    }

    private func verify(
        _ token: inout any Token, _ card: SmallCard, _ lastTry: LastTry = .keep
    ) throws(TokenError) {
        var transaction = card.transaction()
        try token.verify(.typed, lastTry: lastTry, &transaction)
    }

    @Test func aRightOneIsTakenAndCostsTheCommandsOfAGivenOne() throws {
        let (typing, giving) = (SmallCard(), SmallCard())
        typing.typed = "123456"
        var (first, second) = (try token(typing), try token(giving))
        try verify(&first, typing)
        var transaction = giving.transaction()
        try second.verify(PIN("123456"), lastTry: .keep, &transaction)
        #expect(typing.commands == giving.commands)
        #expect(typing.count("0020008008") == 1)
        #expect(first.pins.isPresented)
    }

    @Test func aWrongOneCostsATryEachTimeSinceNobodyKnowsWhatItWas() throws {
        let card = SmallCard()
        card.typed = "000000"
        var token = try token(card)
        for left in [2, 1] {
            let error = #expect(throws: TokenError(.pinIncorrect, "")) { try verify(&token, card) }
            #expect(error?.triesLeft == left)
        }
        let last = #expect(throws: TokenError(.pinLastTry, "")) { try verify(&token, card) }
        #expect(last?.triesLeft == 1)
        #expect(card.triesLeft == 1)
        #expect(throws: TokenError(.pinIncorrect, "")) { try verify(&token, card, .spend) }
        #expect(throws: TokenError(.pinBlocked, "")) { try verify(&token, card, .spend) }
        #expect(card.count("0020008008") == 3)
    }

    @Test(
        arguments: [
            (0x6400, .card(.cancelled)), (0x6401, .card(.cancelled)), (0x6403, .pinFormat), (0x6402, .pinPadFailed),
            (0x64FF, .pinPadFailed),
        ] as [(UInt16, TokenError.Code)])
    func whatTheReaderAnswersCostsNothingAndTakesNoPINBack(status: UInt16, code: TokenError.Code) throws {
        let card = SmallCard()
        var token = try token(card)
        card.typed = "123456"
        try verify(&token, card)
        card.readerAnswer = StatusWord(rawValue: status)
        let error = #expect(throws: TokenError(code, "")) { try verify(&token, card) }
        #expect(error?.status == card.readerAnswer)
        #expect(card.triesLeft == 3)
        #expect(card.count("0020008008") == 1)
        #expect(token.pins.isPresented)
    }

    @Test func aReaderThatFailsIsToldFromACardThatDoes() throws {
        let card = SmallCard()
        var token = try token(card)
        #expect(throws: TokenError(.pinPadFailed, "")) { try verify(&token, card) }
        // The card may have got the PIN or not, so the tries left are read anew.
        card.typed = "123456"
        card.forgetCommands()
        try verify(&token, card)
        #expect(card.commands.dropFirst().first == "00200080")
    }

    @Test func aKeyThatWantsItEachTimeIsUsedRightAfterIt() throws {
        let card = SmallCard()
        try card.provision(0x9C, tag: "5FC10A", PrivateKey.generate(.ecP256))
        card.typed = "123456"
        var token = try token(card)
        let operation = TokenOperation(key: TokenObjectID("9C"), action: .sign(.ecdsa(nil), Self.digest))
        func perform(_ pin: consuming PIN) throws {
            var transaction = card.transaction()
            _ = try token.perform(operation, presenting: pin, lastTry: .keep, &transaction)
        }
        // The PIN was not presented, although the caller says so.
        #expect(throws: TokenError(.pinRequired, "")) { try perform(.presented) }
        #expect(card.count("0087") == 0)
        try perform(.typed)
        let sent = card.commands.suffix(2).map { $0.prefix(4) }
        #expect(sent == ["0020", "0087"])
        card.forgetCommands()
        try perform(.presented)
        #expect(card.commands.map { $0.prefix(4) } == ["0087"])
        // Without either, the key is refused: the card's verified state does not count for such a key.
        var transaction = card.transaction()
        #expect(throws: TokenError(.pinRequired, "")) { _ = try token.perform(operation, &transaction) }
    }

    @Test func noOtherSecretIsTyped() throws {
        let card = SmallCard()
        card.typed = "12345678"
        var token = try token(card)
        var transaction = card.transaction()
        #expect(throws: TokenError(.pinFormat, "")) {
            try token.change(.pin, from: .typed, to: PIN("123456"), lastTry: .keep, &transaction)
        }
        #expect(throws: TokenError(.pinFormat, "")) {
            try token.change(.unblockingKey, from: PIN("12345678"), to: .typed, lastTry: .keep, &transaction)
        }
        #expect(throws: TokenError(.pinFormat, "")) {
            try token.unblock(with: .typed, newPIN: PIN("123456"), lastTry: .keep, &transaction)
        }
        #expect(card.count("0024") + card.count("002C") == 0)
    }
}
