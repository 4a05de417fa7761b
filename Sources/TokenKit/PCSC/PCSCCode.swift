internal import CPCSC

/// The return code of a PC/SC function. A code without a name here keeps its number.
struct PCSCCode: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt32

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// The result of a C call: `LONG` has 64 bits, of which a code uses 32.
    init(_ result: LONG) {
        rawValue = UInt32(truncatingIfNeeded: result)
    }

    static let success = PCSCCode(SCARD_S_SUCCESS)
    static let cancelled = PCSCCode(SCARD_E_CANCELLED)
    static let insufficientBuffer = PCSCCode(SCARD_E_INSUFFICIENT_BUFFER)
    static let unknownReader = PCSCCode(SCARD_E_UNKNOWN_READER)
    static let timeout = PCSCCode(SCARD_E_TIMEOUT)
    static let sharingViolation = PCSCCode(SCARD_E_SHARING_VIOLATION)
    static let noCard = PCSCCode(SCARD_E_NO_SMARTCARD)
    static let noService = PCSCCode(SCARD_E_NO_SERVICE)
    static let noReadersAvailable = PCSCCode(SCARD_E_NO_READERS_AVAILABLE)
    static let notTransacted = PCSCCode(SCARD_E_NOT_TRANSACTED)
    static let linkLost = PCSCCode(SCARD_F_COMM_ERROR)
    static let unsupportedFeature = PCSCCode(SCARD_E_UNSUPPORTED_FEATURE)
    static let resetCard = PCSCCode(SCARD_W_RESET_CARD)
    static let unresponsiveCard = PCSCCode(SCARD_W_UNRESPONSIVE_CARD)
    static let unpoweredCard = PCSCCode(SCARD_W_UNPOWERED_CARD)
}

/// The step at which a code came, since codes have different meanings while connecting and later.
enum PCSCStep: Sendable {
    case connecting, connected
}

extension CardError.Code {
    /// The error of a code for a failure.
    init(_ code: PCSCCode, _ step: PCSCStep) {
        switch LONG(code.rawValue) {
        case SCARD_E_NO_SERVICE, SCARD_E_SERVICE_STOPPED, SCARD_E_INVALID_HANDLE, SCARD_F_COMM_ERROR,
            SCARD_F_INTERNAL_ERROR, SCARD_E_NO_MEMORY, SCARD_P_SHUTDOWN, SCARD_E_SYSTEM_CANCELLED,
            SCARD_E_SERVER_TOO_BUSY:
            self = .serviceUnavailable
        case SCARD_W_SECURITY_VIOLATION, SCARD_E_NO_ACCESS:
            self = .accessDenied
        case SCARD_E_NO_READERS_AVAILABLE, SCARD_E_UNKNOWN_READER:
            self = step == .connecting ? .noReader : .removed
        case SCARD_E_READER_UNAVAILABLE, SCARD_E_INVALID_VALUE:
            // pcscd calls the handle of a reader that is gone an invalid value.
            self = step == .connecting ? .noReader : .removed
        case SCARD_E_NO_SMARTCARD, SCARD_W_REMOVED_CARD:
            self = step == .connecting ? .noCard : .removed
        case SCARD_W_UNRESPONSIVE_CARD, SCARD_W_UNPOWERED_CARD, SCARD_W_UNSUPPORTED_CARD, SCARD_E_CARD_UNSUPPORTED:
            self = .muteCard
        case SCARD_E_SHARING_VIOLATION:
            self = .inUse
        case SCARD_W_RESET_CARD:
            self = .reset
        case SCARD_E_CANCELLED:
            self = .cancelled
        case SCARD_E_INSUFFICIENT_BUFFER:
            self = .malformed
        default:
            self = .communication
        }
    }
}

extension CardError {
    /// The card error of a code, with its reason and remedy.
    init(_ code: PCSCCode, _ step: PCSCStep = .connected, reader: String = "") {
        let meaning = Code(code, step)
        self.init(meaning, CardError.reason(meaning, code, reader))
    }

    /// The card, or the service for it, has not answered in time.
    static func silence(for limit: Duration, reader: String) -> CardError {
        CardError(
            .communication,
            """
            the card in "\(reader)" has not answered for \(limit.components.seconds) seconds \
            (take it out, insert it again)
            """)
    }

    /// No reader is plugged in.
    public static var noReaderConnected: CardError { CardError(.noReadersAvailable, .connecting) }

    private static func reason(_ meaning: Code, _ code: PCSCCode, _ reader: String) -> LocalizedText {
        switch meaning {
        case .serviceUnavailable:
            "no smart-card service answers (install pcscd, or start it: systemctl start pcscd.socket)"
        case .accessDenied:
            """
            the smart-card service refuses this user or session (ask for the polkit actions \
            org.debian.pcsc-lite.access_pcsc and org.debian.pcsc-lite.access_card)
            """
        case .noReader where reader.isEmpty:
            "no smart-card reader is connected (plug one in)"
        case .noReader:
            "there is no reader \"\(reader)\" (plug it in, or name another)"
        case .noCard:
            "no card is in the reader \"\(reader)\" (insert one)"
        case .muteCard:
            "the card in \"\(reader)\" does not answer (take it out, see that it is the right way up, insert it again)"
        case .inUse:
            """
            another program holds the card in "\(reader)" for itself \
            (close that program; for GnuPG: gpgconf --kill scdaemon)
            """
        case .removed:
            "the card or its reader \"\(reader)\" was removed (insert the card again)"
        case .reset:
            "another program reset the card in \"\(reader)\" (try again)"
        case .cancelled:
            "the wait for a card was cancelled"
        case .malformed:
            "the card in \"\(reader)\" answered more than an answer can have"
        case .communication, .responseTooLarge, .invalidCommand:
            """
            the reader "\(reader)" cannot speak to the card: PC/SC error \
            \(String(code.rawValue, radix: 16, uppercase: true)) (insert the card again)
            """
        }
    }
}
