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
