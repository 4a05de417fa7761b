import SecureBytes
import TestSupport
import Testing

@testable import TokenKit

/// The features that a driver reports for its reader's keypad, and the requests to it. PC/SC part 10.
@Suite struct PINPadFeatureTests {
    private static let entry = PINEntry(digits: 6...8, block: Array(repeating: 0xFF, count: 8))

    @Test(
        arguments: [
            ("", nil, nil),
            ("060442330006", 0x4233_0006, nil),
            ("120442330012060442330006", 0x4233_0006, 0x4233_0012),
            // A feature of another length is skipped, and one that is cut off ends the list.
            ("0602AAAA060442330006", 0x4233_0006, nil),
            ("0702AAAA0600060442330006", 0x4233_0006, nil),
            ("0604423300", nil, nil),
            ("06FF42330006060442330006", nil, nil),
            ("06", nil, nil),
            ("0804423300080A044233000A", nil, nil),
        ] as [(String, UInt32?, UInt32?)])
    func featuresAreReadAsFarAsTheyAreWhole(list: String, verifyPIN: UInt32?, properties: UInt32?) {
        let features = ReaderFeatures(parsing: .init(hex: list))
        #expect(features.verifyPIN == verifyPIN)
        #expect(features.properties == properties)
    }

    @Test func noListOfFeaturesIsTooStrange() {
        var state = UInt32(1)
        for length in 0..<400 {
            let bytes = (0..<length).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(truncatingIfNeeded: state >> 24) & 0x1F
            }
            _ = ReaderFeatures(parsing: bytes)
            _ = PINPad(code: 1, properties: bytes).takes(Self.entry)
        }
    }

    @Test(
        arguments: [
            ("", true), ("060104070108", true), ("060106070108", true), ("060100070100", true), ("07010F", true),
            ("070106", false), ("060107", false), ("060109070102", false),
            // Another property, and limits of a wrong length.
            ("010200000602000907020001", true),
        ])
    func aReaderThatCannotTakeEveryPINTakesNone(properties: String, takes: Bool) {
        #expect(PINPad(code: 1, properties: .init(hex: properties)).takes(Self.entry) == takes)
    }

    @Test func aBlockOfMoreBytesThanItsLengthCanSayIsNotTaken() {
        let entry = PINEntry(digits: 6...8, block: Array(repeating: 0, count: 16))
        #expect(!PINPad(code: 1, properties: []).takes(entry))
    }

    /// bTimerOut, bTimerOut2, bmFormatString, bmPINBlockString, bmPINLengthFormat, wPINMaxExtraDigit, bEntryValidationCondition,
    /// bNumberMessage, wLangId, bMsgIndex, bTeoPrologue, ulDataLength, abData; numbers are little-endian.
    @Test func theRequestIsThatOfTheStandard() {
        let header = CommandAPDU(ins: 0x20, p1: 0, p2: 0x80)
        let bytes = Hex.encode(PINPad.request(header, Self.entry))
        #expect(
            bytes == "1E1E" + "820800" + "0806" + "0201" + "0904" + "00" + "000000" + "0D000000"
                + "0020008008FFFFFFFFFFFFFFFF")
    }

    @Test func aChannelWithoutKeysSaysSo() throws {
        final class Plain: CardChannel {
            func transmit(_ command: Span<UInt8>) -> [UInt8] { [0x90, 0x00] }
        }
        let link = CardLink(atr: ATR([]), transmissionProtocol: .t1)
        var transaction = CardTransaction(on: Plain(), link: link, epoch: 0)
        let header = CommandAPDU(ins: 0x20, p1: 0, p2: 0x80)
        #expect(throws: CardError(.communication, "")) {
            try transaction.send(header, entering: Self.entry)
        }
        #expect(throws: TokenError(.pinPadFailed, "")) {
            try transaction.exchange(header, entering: Self.entry)
        }
    }
}
