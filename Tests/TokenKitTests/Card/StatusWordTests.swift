import SecureBytes
import Testing
import TokenKit

@Suite struct StatusWordTests {
    @Test func everyNumberIsKept() {
        for number in UInt16.min...UInt16.max {
            let status = StatusWord(rawValue: number)
            let (sw1, sw2) = (UInt8(number >> 8), UInt8(number & 0xFF))
            let holds =
                status.rawValue == number && status.sw1 == sw1 && status.sw2 == sw2
                && StatusWord(sw1, sw2) == status && status.description.hasPrefix(Hex.encode([sw1, sw2]))
            if !holds { Issue.record("\(Hex.encode([sw1, sw2]))") }
        }
    }

    @Test func onlyTwoRangesSpeakOfLengths() {
        for number in UInt16.min...UInt16.max {
            let status = StatusWord(rawValue: number)
            let length = number & 0xFF == 0 ? 256 : Int(number & 0xFF)
            let holds =
                status.remainingResponseLength == (number >> 8 == 0x61 ? length : nil)
                && status.correctExpectedLength == (number >> 8 == 0x6C ? length : nil)
            if !holds { Issue.record("\(status)") }
        }
    }

    @Test(
        arguments: [
            (0x9000, "9000, success"), (0x6A82, "6A82, object not found"), (0x63C2, "63C2, verification failed"),
            (0x6983, "6983, authentication method blocked"), (0x6110, "6110, more data available"),
            (0x6F42, "6F42"), (0x0000, "0000"), (0xFFFF, "FFFF"),
        ] as [(UInt16, String)])
    func theMeaningFollowsTheDigits(number: UInt16, text: String) {
        #expect(StatusWord(rawValue: number).description == text)
    }
}
