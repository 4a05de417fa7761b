internal import CPCSC

/// PC/SC's status of one reader.
struct PCSCStatus: Hashable, Sendable {
    /// The name that stands for readers being plugged in and out.
    static let plugAndPlay = #"\\?PnP?\Notification"#

    /// The maximum number of readers in one call of libpcsclite.
    static let maximumCount = Int(PCSCLITE_MAX_READERS_CONTEXTS)

    let reader: String

    /// `SCARD_STATE` bits, with a count of insertions and removals in the upper half; zero for unknown.
    var state: UInt32 = 0

    var atr = ATR([])

    /// The state without `SCARD_STATE_CHANGED`, as the known state of the next call.
    var known: PCSCStatus { PCSCStatus(reader: reader, state: state & ~UInt32(SCARD_STATE_CHANGED), atr: atr) }

    /// The number of insertions and removals, modulo 65,536.
    var changeCount: UInt16 { UInt16(truncatingIfNeeded: state >> 16) }

    /// Whether a program is connected to the card.
    var isUsed: Bool { state & UInt32(SCARD_STATE_INUSE | SCARD_STATE_EXCLUSIVE) != 0 }

    /// Whether no card is in the reader, not even one that is just being inserted.
    var isEmpty: Bool { state & UInt32(SCARD_STATE_EMPTY) != 0 }

    /// The presence of a card by the state's flags.
    var presence: CardPresence {
        let gone = SCARD_STATE_UNKNOWN | SCARD_STATE_UNAVAILABLE | SCARD_STATE_EMPTY
        guard state & UInt32(gone) == 0, state & UInt32(SCARD_STATE_PRESENT) != 0 else { return .absent }
        if state & UInt32(SCARD_STATE_MUTE) != 0 { return .mute }
        // A card that has not been powered yet is one that is being inserted.
        return atr.bytes.isEmpty ? .absent : .present(atr)
    }
}

extension PCSCContext {
    /// Waits until a reader differs from its known state, and returns the present states of all.
    ///
    /// Wraps SCardGetStatusChange. Returns at once where a state is zero, and after `seconds` at the latest.
    func statusChange(
        from known: [PCSCStatus], seconds: Int
    ) -> (code: PCSCCode, now: [PCSCStatus]) {
        let known = known.prefix(PCSCStatus.maximumCount)
        let milliseconds = DWORD(clamping: seconds) * 1_000
        let names = known.flatMap { Array($0.reader.utf8CString) }
        return unsafe names.withUnsafeBufferPointer { names in
            var next = names.baseAddress
            var states = unsafe known.map { status in
                var state = unsafe SCARD_READERSTATE()
                unsafe state.szReader = unsafe next
                unsafe state.dwCurrentState = DWORD(status.state)
                unsafe next = unsafe next?.advanced(by: status.reader.utf8.count + 1)
                return unsafe state
            }
            let code = call(atMost: .seconds(seconds) + PCSCContext.patience) {
                unsafe SCardGetStatusChange(handle, milliseconds, &states, DWORD(states.count))
            }
            let now = unsafe zip(known, states).map { status, state in
                PCSCStatus(
                    reader: status.reader, state: unsafe UInt32(truncatingIfNeeded: state.dwEventState),
                    atr: unsafe PCSCContext.atr(of: state))
            }
            return (code, now)
        }
    }

    private static func atr(of state: SCARD_READERSTATE) -> ATR {
        let bytes = unsafe withUnsafeBytes(of: state.rgbAtr) { unsafe Array($0) }
        return unsafe ATR(Array(bytes.prefix(Int(clamping: state.cbAtr))))
    }
}
