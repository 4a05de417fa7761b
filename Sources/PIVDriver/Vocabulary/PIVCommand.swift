internal import SecureBytes
internal import TokenKit

/// The commands of the PIV card application, and Yubico's additional ones.
enum PIVCommand {
    /// The application identifier without its version, as cards of any version know it. SP 800-73-5 part 1 §2.2.
    static let applicationID: [UInt8] = [0xA0, 0x00, 0x00, 0x03, 0x08, 0x00, 0x00, 0x10, 0x00]

    /// SELECT. SP 800-73-5 part 2 §3.1.1.
    static let select = CommandAPDU(
        ins: 0xA4, p1: 0x04, p2: 0x00, data: applicationID, expectedLength: CommandAPDU.maximumShortResponse)

    /// GET DATA. SP 800-73-5 part 2 §3.1.2.
    static func getData(_ container: PIVContainer) -> CommandAPDU {
        CommandAPDU(
            ins: 0xCB, p1: 0x3F, p2: 0xFF, data: TLV(0x5C, container.tag.octets).encoded(),
            expectedLength: expectedLength(atMost: container.sizeLimit))
    }

    /// The header of VERIFY; the PIN follows as a secret. SP 800-73-5 part 2 §3.2.1.
    static func verify(_ reference: PINReference) -> CommandAPDU {
        CommandAPDU(ins: 0x20, p1: 0x00, p2: reference.rawValue)
    }

    /// VERIFY without data, which asks for the state of the PIN. SP 800-73-5 part 2 §3.2.1.
    static func verificationStatus(_ reference: PINReference) -> CommandAPDU {
        verify(reference)
    }

    /// VERIFY that ends the presented state of the PIN. SP 800-73-5 part 2 §3.2.1.
    static func logOut(_ reference: PINReference) -> CommandAPDU {
        CommandAPDU(ins: 0x20, p1: 0xFF, p2: reference.rawValue)
    }

    /// The header of CHANGE REFERENCE DATA; old and new value follow. SP 800-73-5 part 2 §3.2.2.
    static func changeReferenceData(_ reference: PINReference) -> CommandAPDU {
        CommandAPDU(ins: 0x24, p1: 0x00, p2: reference.rawValue)
    }

    /// The header of RESET RETRY COUNTER; unblocking key and new PIN follow. SP 800-73-5 part 2 §3.2.3.
    static func resetRetryCounter(_ reference: PINReference) -> CommandAPDU {
        CommandAPDU(ins: 0x2C, p1: 0x00, p2: reference.rawValue)
    }

    /// GENERAL AUTHENTICATE. SP 800-73-5 part 2 §3.2.4.
    ///
    /// - Parameters:
    ///   - field: `81` for a signature or RSA, `85` for a key agreement.
    ///   - answerLength: the bytes that the card returns in `82`.
    ///   - isConfidential: whether the answer must not be shown in a trace.
    static func generalAuthenticate(
        _ algorithm: PIVAlgorithm, _ slot: PIVSlot, field: TLVTag, _ input: [UInt8], answerLength: Int,
        isConfidential: Bool
    ) -> CommandAPDU {
        CommandAPDU(
            ins: 0x87, p1: algorithm.rawValue, p2: slot.rawValue,
            data: TLV(0x7C, [TLV(0x82, [UInt8]()), TLV(field, input)]).encoded(),
            expectedLength: expectedLength(atMost: answerLength + templateOverhead),
            confidentiality: isConfidential ? .response : [])
    }

    /// The most bytes that the tags and lengths of `7C` and `82` take.
    static let templateOverhead = 8

    /// GET METADATA of a key or PIN: Yubico, from firmware 5.3.
    static func metadata(_ reference: UInt8) -> CommandAPDU {
        CommandAPDU(ins: 0xF7, p1: 0x00, p2: reference, expectedLength: CommandAPDU.anyLength)
    }

    /// GET SERIAL NUMBER: Yubico, from firmware 5.0.
    static let serialNumber = CommandAPDU(
        ins: 0xF8, p1: 0x00, p2: 0x00, expectedLength: CommandAPDU.maximumShortResponse)

    /// ATTEST: Yubico, from firmware 4.3.
    static func attest(_ slot: PIVSlot) -> CommandAPDU {
        CommandAPDU(ins: 0xF9, p1: slot.rawValue, p2: 0x00, expectedLength: CommandAPDU.anyLength)
    }

    /// GET VERSION: Yubico.
    static let version = CommandAPDU(ins: 0xFD, p1: 0x00, p2: 0x00, expectedLength: CommandAPDU.maximumShortResponse)

    /// The expected length that keeps the command short where the answer fits, even if the card takes extended ones.
    private static func expectedLength(atMost length: Int) -> Int {
        length <= CommandAPDU.maximumShortResponse ? CommandAPDU.maximumShortResponse : CommandAPDU.anyLength
    }
}
