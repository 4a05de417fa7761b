import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

private func pin(_ bytes: [UInt8]) -> PIN {
    var bytes = bytes
    return PIN(Secret(consuming: &bytes))
}

@Suite struct PINBlockTests {
    @Test(arguments: [
        ("123456", "313233343536FFFF"), ("1234567", "31323334353637FF"), ("12345678", "3132333435363738"),
    ])
    func aPINIsFilledUpToEightBytes(text: String, block: String) throws {
        let padded = try PINBlock.padded(pin(Array(text.utf8)), kind: .pin, anyCharacters: false)
        #expect(Hex.encode(Array(copying: padded.bytes)) == block)
    }

    @Test(arguments: ["", "1", "12345", "123456789", "1234567890123456"])
    func aPINOfAnotherLengthNeverGetsToTheCard(text: String) {
        for anyCharacters in [false, true] {
            #expect(throws: TokenError(.pinFormat, "")) {
                _ = try PINBlock.padded(pin(Array(text.utf8)), kind: .pin, anyCharacters: anyCharacters).count
            }
        }
    }

    @Test func charactersAreThoseOfTheCard() throws {
        let letters = Array("PassWd".utf8)
        #expect(throws: TokenError(.pinFormat, "")) {
            _ = try PINBlock.padded(pin(letters), kind: .pin, anyCharacters: false).count
        }
        _ = try PINBlock.padded(pin(letters), kind: .pin, anyCharacters: true).count
        _ = try PINBlock.padded(pin(letters), kind: .unblockingKey, anyCharacters: false).count
    }

    @Test(arguments: [PINKind.pin, .unblockingKey])
    func paddingIsNoPartOfAPIN(kind: PINKind) {
        #expect(throws: TokenError(.pinFormat, "")) {
            _ = try PINBlock.padded(pin([0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0xFF]), kind: kind, anyCharacters: true)
                .count
        }
        #expect(throws: TokenError(.pinFormat, "")) {
            _ = try PINBlock.padded(pin(Array(repeating: 0xFF, count: 8)), kind: kind, anyCharacters: true).count
        }
    }

    @Test func aPairIsOneAfterTheOther() throws {
        let first = try PINBlock.padded(PIN("123456"), kind: .pin, anyCharacters: false)
        let second = try PINBlock.padded(PIN("654321"), kind: .pin, anyCharacters: false)
        let pair = PINBlock.pair(first, second)
        #expect(Hex.encode(Array(copying: pair.bytes)) == "313233343536FFFF363534333231FFFF")
    }
}

@Suite struct PINStateTests {
    @Test func nothingIsBelievedAtFirst() {
        let state = PINState()
        #expect(!state.isPresented)
        #expect(state.tries(of: .application) == .unknown)
        #expect(state.reference == nil)
    }

    @Test func aRightPINIsPresentedAndHasAllItsTriesAgain() {
        var state = PINState()
        state.learn(.left(1), of: .application)
        state.sending(to: .application)
        #expect(state.tries(of: .application) == .unknown)
        state.accepted([0x80, 9], of: .application)
        #expect(state.isPresented)
        #expect(state.tries(of: .application) == .all)
    }

    @Test func anUnblockingKeyPresentsNothing() {
        var state = PINState()
        state.accepted([0x81, 9], of: .unblocking)
        #expect(!state.isPresented)
    }

    @Test func sendingTakesTheBeliefBackUntilTheCardHasAnswered() {
        var state = PINState()
        state.accepted([0x80, 9], of: .application)
        state.sending(to: .application)
        #expect(!state.isPresented)
        state.accepted([0x80, 9], of: .application)
        state.sending(to: .unblocking)
        #expect(state.isPresented)
    }

    @Test func aRefusedValueIsKnownAgainUntilANewOneIsSet() {
        var state = PINState()
        state.refused([0x80, 1], of: .application, triesLeft: 2)
        state.refused([0x81, 1], of: .unblocking, triesLeft: nil)
        #expect(state.hasRejected([0x80, 1], of: .application))
        #expect(!state.hasRejected([0x80, 2], of: .application))
        #expect(!state.hasRejected(nil, of: .application))
        #expect(state.triesLeft(of: .application) == 2)
        #expect(state.triesLeft(of: .unblocking) == nil)
        state.replaced(.application, by: [0x80, 7])
        #expect(!state.hasRejected([0x80, 1], of: .application))
        #expect(state.hasRejected([0x81, 1], of: .unblocking))
    }

    @Test func aResetTakesPresenceAndTriesButNotWhatWasRefused() {
        var state = PINState()
        state.refused([0x80, 1], of: .application, triesLeft: 2)
        state.accepted([0x80, 9], of: .application)
        state.forgetPresented()
        #expect(!state.isPresented)
        #expect(state.tries(of: .application) == .unknown)
        #expect(state.hasRejected([0x80, 1], of: .application))
    }

    @Test func aRefusedValueIsWrongUntilTheCardShowsThatAnotherWasRight() {
        var state = PINState()
        state.refused([0x80, 1], of: .application, triesLeft: 2)
        state.learn(.left(1), of: .application)
        #expect(state.hasRejected([0x80, 1], of: .application))
        state.accepted([0x80, 9], of: .application)
        #expect(!state.hasRejected([0x80, 1], of: .application))
        // The count went up and down again, as the card tells with the next one.
        state.refused([0x80, 2], of: .application, triesLeft: 2)
        #expect(!state.hasRejected([0x80, 1], of: .application))
        #expect(state.hasRejected([0x80, 2], of: .application))
        state.refused([0x80, 3], of: .application, triesLeft: 1)
        #expect(state.hasRejected([0x80, 2], of: .application))
        #expect(state.hasRejected([0x80, 3], of: .application))
    }

    @Test func ofACardThatTellsNoTriesARefusedValueStaysWrong() {
        var state = PINState()
        state.refused([0x81, 1], of: .unblocking, triesLeft: nil)
        state.refused([0x81, 2], of: .unblocking, triesLeft: nil)
        state.accepted([0x81, 9], of: .unblocking)
        #expect(state.hasRejected([0x81, 1], of: .unblocking))
        #expect(state.hasRejected([0x81, 2], of: .unblocking))
    }

    @Test func onlyAFullCountIsBelievedInTheNextTransaction() {
        var state = PINState()
        #expect(state.wantsTries(of: .application, for: [0x80, 9]))
        state.learn(.left(2), of: .application)
        #expect(!state.wantsTries(of: .application, for: [0x80, 9]))
        state.beginTransaction()
        #expect(state.wantsTries(of: .application, for: [0x80, 9]))
        #expect(state.triesLeft(of: .application) == 2)
        state.accepted([0x80, 9], of: .application)
        state.beginTransaction()
        #expect(!state.wantsTries(of: .application, for: [0x80, 9]))
    }

    @Test func aFullCountIsBelievedForTheValueThatWasRightAndForNoOther() {
        var state = PINState()
        state.accepted([0x80, 9], of: .application)
        #expect(!state.wantsTries(of: .application, for: [0x80, 9]))
        for other in [[0x80, 8], [0x81, 9], nil] as [[UInt8]?] {
            #expect(state.wantsTries(of: .application, for: other))
        }
        #expect(state.wantsTries(of: .unblocking, for: [0x80, 9]))
        state.replaced(.application, by: [0x80, 7])
        #expect(!state.wantsTries(of: .application, for: [0x80, 7]))
        #expect(state.wantsTries(of: .application, for: [0x80, 9]))
    }

    @Test func fingerprintsTellValuesAndKindsApart() throws {
        let one = try PINBlock.padded(PIN("123456"), kind: .pin, anyCharacters: false)
        let other = try PINBlock.padded(PIN("123457"), kind: .pin, anyCharacters: false)
        let print = PINState.fingerprint(one, of: .application)
        #expect(print != nil)
        #expect(PINState.fingerprint(one, of: .application) == print)
        #expect(PINState.fingerprint(other, of: .application) != print)
        #expect(PINState.fingerprint(one, of: .unblocking) != print)
        #expect(print?.count == 33)
    }
}
