import SecureBytes
import TestSupport
import Testing

@testable import TokenKit

extension RejectedPINs {
    fileprivate func has(_ pin: StaticString, _ kind: PINKind, _ triesLeft: Int) -> Bool {
        contains(PIN(pin), as: kind, .left(triesLeft))
    }
}

/// Programs tell one another of values that a card refused.
@Suite struct RejectedPINsTests {
    @Test func aValueIsWrongForAsLongAsTheCardHasNoMoreTries() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(PIN("111111"), as: .pin, triesLeft: 2)
        #expect(rejected.has("111111", .pin, 2))
        #expect(rejected.has("111111", .pin, 1))
        #expect(!rejected.has("111111", .pin, 3))
        #expect(!rejected.has("111111", .unblockingKey, 2))
        #expect(!rejected.has("111112", .pin, 2))
    }

    @Test func aValueMayBeRightAgainOnceAnotherLeavesAsManyTries() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(PIN("111111"), as: .pin, triesLeft: 2)
        rejected.insert(PIN("222222"), as: .pin, triesLeft: 1)
        rejected.insert(PIN("222222"), as: .unblockingKey, triesLeft: 1)
        #expect(rejected.has("111111", .pin, 1))
        #expect(rejected.has("222222", .pin, 1))
        rejected.insert(PIN("333333"), as: .pin, triesLeft: 2)
        #expect(!rejected.has("111111", .pin, 1))
        #expect(!rejected.has("222222", .pin, 1))
        #expect(rejected.has("333333", .pin, 1))
        #expect(rejected.has("222222", .unblockingKey, 1))
    }

    @Test func aNewValueMakesAnyRightAgain() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(PIN("111111"), as: .pin, triesLeft: 2)
        rejected.insert(PIN("111111"), as: .unblockingKey, triesLeft: 2)
        rejected.forget(.pin)
        #expect(!rejected.has("111111", .pin, 2))
        #expect(rejected.has("111111", .unblockingKey, 2))
    }

    @Test func aPINThatIsNotKnownHereIsNotRemembered() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(.typed, as: .pin, triesLeft: 2)
        let isKnown = rejected.contains(.typed, as: .pin, .left(2))
        #expect(!isKnown)
        #expect(rejected.fewestTries(of: .pin) == nil)
    }

    @Test func whatIsWrittenIsReadAndAnythingElseIsNot() throws {
        var rejected = try #require(RejectedPINs())
        rejected.insert(PIN("111111"), as: .pin, triesLeft: 2)
        rejected.insert(PIN("11111111"), as: .unblockingKey, triesLeft: nil)
        let bytes = rejected.encoded
        let read = try #require(RejectedPINs(parsing: bytes))
        #expect(read == rejected)
        #expect(read.encoded == bytes)
        #expect(read.has("111111", .pin, 2))
        for count in [0, 1, 32, bytes.count - 1] { #expect(RejectedPINs(parsing: Array(bytes.prefix(count))) == nil) }
        #expect(RejectedPINs(parsing: [9] + bytes.dropFirst()) == nil)
        #expect(RejectedPINs(parsing: bytes + [0]) == nil)
        var unknown = bytes
        unknown[33] = 0x55
        #expect(RejectedPINs(parsing: unknown) == nil)
    }

    /// A process remembers all values that it saw refused; other programs get the last 32.
    @Test func onlySoManyAreKept() throws {
        var rejected = try #require(RejectedPINs())
        for number in 0..<100 {
            var digits = Array(String(100_000 + number).utf8)
            rejected.insert(PIN(Secret(consuming: &digits)), as: .pin, triesLeft: 200 - number)
        }
        #expect(rejected.has("100000", .pin, 2))
        #expect(rejected.encoded.count == 1 + 32 + 32 * 34)
        let kept = try #require(RejectedPINs(parsing: rejected.encoded))
        #expect(kept.has("100099", .pin, 2))
        #expect(!kept.has("100000", .pin, 2))
    }
}
