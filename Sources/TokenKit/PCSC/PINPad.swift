internal import Platform
internal import SecureBytes

/// The control codes of a reader's driver for functions outside PC/SC itself. PC/SC part 10 §2.2.
struct ReaderFeatures: Hashable, Sendable {
    /// `CM_IOCTL_GET_FEATURE_REQUEST`, a macro with arguments that Swift does not import.
    static let request: UInt32 = 0x4200_0000 + 3400

    /// Bytes of the longest list, since no feature has a number above 255.
    static let maximumLength = 256 * 6

    /// `FEATURE_VERIFY_PIN_DIRECT`.
    private(set) var verifyPIN: UInt32?

    /// `FEATURE_GET_TLV_PROPERTIES`.
    private(set) var properties: UInt32?

    /// Reads tag, length and a control code, most significant byte first, to the end. Entries of another length are
    /// skipped.
    init(parsing bytes: [UInt8]) {
        var elements = TLVReader(bytes, .octets)
        while let element = try? elements.next() {
            guard element.value.count == 4 else { continue }
            let code = UInt32(bigEndianBytes: element.value)
            switch element.tag {
            case 0x06: verifyPIN = code
            case 0x12: properties = code
            default: break
            }
        }
    }
}

/// A reader's keys, on which a PIN is typed without passing through the computer.
struct PINPad: Hashable, Sendable {
    /// The control code that has a PIN typed and sent to the card.
    let code: UInt32

    /// The number of digits that can be typed.
    let digits: ClosedRange<UInt8>

    /// - Parameter properties: the reader's list of its properties, of any length; empty for none.
    init(code: UInt32, properties: [UInt8]) {
        self.code = code
        var (minimum, maximum): (UInt8, UInt8) = (0, .max)
        var elements = TLVReader(properties, .octets)
        while let element = try? elements.next() {
            guard element.value.count == 1, let limit = element.value.first, limit > 0 else { continue }
            switch element.tag {
            case 0x06: minimum = limit
            case 0x07: maximum = limit
            default: break
            }
        }
        digits = min(minimum, maximum)...maximum
    }

    /// Whether every PIN of the form can be typed. The reader would cut off a longer one, which costs a try.
    func takes(_ entry: PINEntry) -> Bool {
        digits.lowerBound <= entry.digits.lowerBound && entry.digits.upperBound <= digits.upperBound
            && entry.block.count <= PINPad.longestBlock
    }

    /// The block's length has four bits.
    private static let longestBlock = 15

    /// Seconds that the reader waits for the first digit, and for the key that ends the entry.
    private static let patience: UInt8 = 30

    /// The time for an entry and the card's answer. The reader waits anew for each digit.
    static let answerLimit = Duration.seconds(300)

    /// A `PIN_VERIFY_STRUCTURE`, whose numbers are in this machine's byte order. PC/SC part 10 §2.5.2.
    static func request(_ header: CommandAPDU, _ entry: PINEntry) -> [UInt8] {
        let count = UInt8(truncatingIfNeeded: entry.block.count)
        let command = [header.cla, header.ins, header.p1, header.p2, count] + entry.block
        let digits = UInt16(entry.digits.lowerBound) << 8 | UInt16(entry.digits.upperBound)
        var request = [patience, patience]
        // The PIN's format: in units of bytes, at offset 0, from the left, in ASCII, without a length field.
        request += [0x82, count, 0x00]
        request += digits.nativeBytes
        // The entry ends with the OK key; one message, the reader's first, in English.
        request += [0x02, 0x01] + UInt16(0x0409).nativeBytes + [0x00]
        request += [0x00, 0x00, 0x00]
        request += UInt32(truncatingIfNeeded: command.count).nativeBytes
        return request + command
    }
}

/// The result of asking a reader for its keys.
enum PINPadSearch: Sendable {
    /// The reader has not been asked yet, or did not answer.
    case open
    case none
    case found(PINPad)
}

extension PINPad {
    /// Whether `TOKENKIT_PINPAD` allows the use of readers' keys.
    static var isWanted: Bool {
        Environment.variable("TOKENKIT_PINPAD") != "no"
    }
}

extension PCSCHandle {
    /// Asks the reader for its keys. The result is `.open` where another program holds a transaction or has reset the card.
    func pinPad() -> PINPadSearch {
        let (code, list) = control(ReaderFeatures.request, [], limit: ReaderFeatures.maximumLength)
        guard code != .sharingViolation, code != .resetCard else { return .open }
        let features = ReaderFeatures(parsing: list)
        guard let verifyPIN = features.verifyPIN else { return .none }
        let properties = features.properties.map { control($0, [], limit: ReaderFeatures.maximumLength).answer }
        return .found(PINPad(code: verifyPIN, properties: properties ?? []))
    }
}
