import Testing

@testable import TokenKit

@Suite struct PCSCCodeTests {
    @Test(
        arguments: [
            (0x8010_001D, .serviceUnavailable, .serviceUnavailable),  // SCARD_E_NO_SERVICE
            (0x8010_001E, .serviceUnavailable, .serviceUnavailable),  // SCARD_E_SERVICE_STOPPED
            (0x8010_0003, .serviceUnavailable, .serviceUnavailable),  // SCARD_E_INVALID_HANDLE
            (0x8010_0013, .serviceUnavailable, .serviceUnavailable),  // SCARD_F_COMM_ERROR
            (0x8010_006A, .accessDenied, .accessDenied),  // SCARD_W_SECURITY_VIOLATION
            (0x8010_002E, .noReader, .removed),  // SCARD_E_NO_READERS_AVAILABLE
            (0x8010_0009, .noReader, .removed),  // SCARD_E_UNKNOWN_READER
            (0x8010_0017, .noReader, .removed),  // SCARD_E_READER_UNAVAILABLE
            (0x8010_0011, .noReader, .removed),  // SCARD_E_INVALID_VALUE
            (0x8010_000C, .noCard, .removed),  // SCARD_E_NO_SMARTCARD
            (0x8010_0069, .noCard, .removed),  // SCARD_W_REMOVED_CARD
            (0x8010_0066, .muteCard, .muteCard),  // SCARD_W_UNRESPONSIVE_CARD
            (0x8010_0067, .muteCard, .muteCard),  // SCARD_W_UNPOWERED_CARD
            (0x8010_000B, .inUse, .inUse),  // SCARD_E_SHARING_VIOLATION
            (0x8010_0068, .reset, .reset),  // SCARD_W_RESET_CARD
            (0x8010_0002, .cancelled, .cancelled),  // SCARD_E_CANCELLED
            (0x8010_0008, .malformed, .malformed),  // SCARD_E_INSUFFICIENT_BUFFER
            (0x8010_0016, .communication, .communication),  // SCARD_E_NOT_TRANSACTED
            (0x8010_000F, .communication, .communication),  // SCARD_E_PROTO_MISMATCH
            (0x8010_FFFF, .communication, .communication),  // none that is known
        ] as [(UInt32, CardError.Code, CardError.Code)])
    func aCodeMeansOneThingWhileConnectingAndOneLater(
        number: UInt32, connecting: CardError.Code, connected: CardError.Code
    ) {
        let code = PCSCCode(rawValue: number)
        #expect(CardError(code, .connecting, reader: "R").code == connecting)
        #expect(CardError(code, .connected, reader: "R").code == connected)
    }

    @Test func everyCodeHasAReasonThatSaysWhatToDo() {
        for number in UInt32(0x8010_0000)...0x8010_00FF {
            for step in [PCSCStep.connecting, .connected] {
                let error = CardError(PCSCCode(rawValue: number), step, reader: "R 00 00")
                let first = error.reason.first
                #expect(first?.isLowercase == true, "\(error)")
                if ![.cancelled, .malformed].contains(error.code) {
                    #expect(error.reason.hasSuffix(")") && error.reason.contains(" ("), "\(error)")
                }
            }
        }
    }

    @Test func anUnknownCodeIsShownWithItsNumber() {
        #expect(CardError(PCSCCode(rawValue: 0x8010_1234), reader: "R").reason.contains("80101234"))
    }

    @Test func sixFailuresToReachACardAreToldApart() {
        let codes: [UInt32] = [0x8010_001D, 0x8010_006A, 0x8010_0009, 0x8010_000C, 0x8010_0067, 0x8010_000B]
        let errors = codes.map { CardError(PCSCCode(rawValue: $0), .connecting, reader: "R") }
        #expect(Set(errors.map(\.code)).count == 6)
        #expect(Set(errors.map(\.reason)).count == 6)
    }

    @Test func thatThereIsNoReaderIsSaidWithoutAName() {
        #expect(CardError.noReaderConnected.code == .noReader)
        #expect(!CardError.noReaderConnected.reason.contains("\""))
    }

    @Test func theUpperHalfOfALongIsNoPartOfACode() {
        #expect(PCSCCode(Int(bitPattern: 0xFFFF_FFFF_8010_001D)) == .noService)
        #expect(PCSCCode(0x8010_001D) == .noService)
        #expect(PCSCCode(0) == .success)
    }
}

@Suite struct PCSCStringsTests {
    @Test(
        arguments: [
            ("", []), ("\0", []), ("A\0\0", ["A"]), ("A\0B c\0\0", ["A", "B c"]), ("A\0\0B\0\0", ["A"]),
            ("unfinished", []), ("A\0unfinished", ["A"]), ("\0A\0\0", []), ("Lesegerät 00\0\0", ["Lesegerät 00"]),
        ])
    func aListEndsWithAnEmptyString(text: String, expected: [String]) {
        let characters = Array(text.utf8).map { CChar(bitPattern: $0) }
        #expect(PCSCContext.strings(in: characters) == expected)
    }

    @Test func bytesThatAreNoTextMakeANameAllTheSame() {
        #expect(PCSCContext.strings(in: [CChar(bitPattern: 0xFF), 0, 0]) == ["\u{FFFD}"])
    }
}
