internal import CPCSC
internal import Glibc
internal import Synchronization

/// One connection to the card in a reader, in a context of its own.
///
/// A thin layer over the C functions, which returns their codes and knows nothing of epochs or transactions.
final class PCSCHandle: Sendable {
    /// The state in which a connection leaves the card.
    enum Disposition: Sendable {
        case leave, reset

        fileprivate var word: DWORD { DWORD(self == .reset ? SCARD_RESET_CARD : SCARD_LEAVE_CARD) }
    }

    private static let protocols = DWORD(SCARD_PROTOCOL_T0 | SCARD_PROTOCOL_T1)

    private let context: PCSCContext
    private let handle: SCARDHANDLE
    private let sharing: DWORD
    private let limit: Duration
    private let isOpen = Atomic(true)

    /// The protocol that was negotiated when the connection was made.
    let initialProtocol: CardLink.TransmissionProtocol

    /// Connects to the card in a reader. Wraps SCardConnect.
    ///
    /// Waits while another program holds a transaction.
    ///
    /// - Parameter limit: the time that each call may take. After a longer one, which returns `.timeout`, the connection is of no
    ///   further use.
    init(reader: String, sharing: PCSCReader.Sharing, limit: Duration) throws(CardError) {
        let context = try PCSCContext()
        let sharing = DWORD(sharing == .exclusive ? SCARD_SHARE_EXCLUSIVE : SCARD_SHARE_SHARED)
        (self.context, self.sharing, self.limit) = (context, sharing, limit)
        var handle: SCARDHANDLE = 0
        var active: DWORD = 0
        var code = context.call(atMost: limit) {
            unsafe SCardConnect(context.handle, reader, sharing, PCSCHandle.protocols, &handle, &active)
        }
        if code == .unpoweredCard {
            // A program has powered the card off. A direct connection powers it on again.
            code = context.call(atMost: limit) {
                unsafe SCardConnect(context.handle, reader, DWORD(SCARD_SHARE_DIRECT), 0, &handle, &active)
            }
            if code == .success {
                code = PCSCHandle.waiting {
                    context.call(atMost: limit) { PCSCHandle.reconnect(handle, sharing, .reset, &active) }
                }
                if code != .success {
                    _ = context.call(atMost: limit) { SCardDisconnect(handle, Disposition.leave.word) }
                }
            }
        }
        guard code == .success else { throw CardError(code, .connecting, reader: reader) }
        self.handle = handle
        initialProtocol = active == DWORD(SCARD_PROTOCOL_T0) ? .t0 : .t1
    }

    /// The result of `call` once no other program holds a transaction. The caller of the initialiser limits the time.
    static func waiting(_ call: () -> PCSCCode) -> PCSCCode {
        while true {
            let code = call()
            guard code == .sharingViolation else { return code }
            usleep(10_000)
        }
    }

    /// Disconnects first, since releasing a context with a connected card may reset the card.
    deinit {
        disconnect(.leave)
    }

    /// Whether calls may be made: not after ``disconnect(_:)``, nor after a call that took too long, nor in a child of the process
    /// that connected.
    var isUsable: Bool { isOpen.load(ordering: .acquiring) && context.isOwn }

    /// The code of a call, or `.timeout` after the limit, which ends the connection.
    private func call(atMost limit: Duration, _ body: () -> LONG) -> PCSCCode {
        let code = context.call(atMost: limit, body)
        if code == .timeout { isOpen.store(false, ordering: .releasing) }
        return code
    }

    /// The card's answer to reset. Wraps SCardStatus.
    func answerToReset() -> (code: PCSCCode, atr: ATR) {
        var atr = [UInt8](repeating: 0, count: ATR.maximumLength)
        var (nameLength, state, active, length): (DWORD, DWORD, DWORD, DWORD) = (0, 0, 0, DWORD(atr.count))
        let code = call(atMost: limit) { unsafe SCardStatus(handle, nil, &nameLength, &state, &active, &atr, &length) }
        return (code, ATR(Array(atr.prefix(Int(clamping: length)))))
    }

    /// Whether another program holds a transaction, or the error that a transaction would have.
    ///
    /// Wraps SCardGetAttrib for an attribute that the service answers by itself. Unlike SCardBeginTransaction and
    /// SCardReconnect, which try again inside libpcsclite for as long as it takes, it returns at once.
    func probe() -> PCSCCode {
        // Longer than any attribute.
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(MAX_BUFFER_SIZE)) { name in
            var length = DWORD(name.count)
            let code = call(atMost: limit) {
                unsafe SCardGetAttrib(handle, PCSCHandle.friendlyName, name.baseAddress, &length)
            }
            return code == .unsupportedFeature ? .success : code
        }
    }

    /// Wraps SCardBeginTransaction.
    func begin() -> PCSCCode { call(atMost: limit) { SCardBeginTransaction(handle) } }

    /// Wraps SCardEndTransaction.
    func end() -> PCSCCode { call(atMost: limit) { SCardEndTransaction(handle, Disposition.leave.word) } }

    /// Acknowledges a reset. Wraps SCardReconnect.
    ///
    /// The service reports a card that was powered off as one that was reset. It is powered on again here: nothing is lost by
    /// that, and no program could use the card otherwise.
    func reconnect() -> (code: PCSCCode, protocol: CardLink.TransmissionProtocol) {
        var active: DWORD = 0
        var code = call(atMost: limit) { PCSCHandle.reconnect(handle, sharing, .leave, &active) }
        if code == .success, !isPowered {
            code = call(atMost: limit) { PCSCHandle.reconnect(handle, sharing, .reset, &active) }
        }
        return (code, active == DWORD(SCARD_PROTOCOL_T0) ? .t0 : .t1)
    }

    private static func reconnect(
        _ handle: SCARDHANDLE, _ sharing: DWORD, _ disposition: Disposition, _ active: inout DWORD
    ) -> LONG {
        unsafe SCardReconnect(handle, sharing, protocols, disposition.word, &active)
    }

    /// Whether the card has power; true where that is unknown. Wraps SCardStatus.
    private var isPowered: Bool {
        var (nameLength, state, active, length): (DWORD, DWORD, DWORD, DWORD) = (0, 0, 0, 0)
        let code = call(atMost: limit) { unsafe SCardStatus(handle, nil, &nameLength, &state, &active, nil, &length) }
        return code != .success || state & DWORD(SCARD_POWERED) != 0
    }

    /// Sends one command. Wraps SCardTransmit.
    func transmit(
        _ command: Span<UInt8>, _ protocol: CardLink.TransmissionProtocol
    ) -> (code: PCSCCode, response: [UInt8]) {
        let word = UInt(`protocol` == .t0 ? SCARD_PROTOCOL_T0 : SCARD_PROTOCOL_T1)
        var control = SCARD_IO_REQUEST(dwProtocol: word, cbPciLength: UInt(MemoryLayout<SCARD_IO_REQUEST>.size))
        var length = DWORD(ResponseAPDU.maximumLength)
        return unsafe withUnsafeTemporaryAllocation(
            byteCount: ResponseAPDU.maximumLength, alignment: 1
        ) { buffer in
            let code = unsafe command.withUnsafeBufferPointer { command in
                call(atMost: limit) {
                    unsafe SCardTransmit(
                        handle, &control, command.baseAddress, DWORD(command.count), nil,
                        buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &length)
                }
            }
            // The answer may be a decrypted secret. After a failure, it is unknown how far the buffer was written.
            let written = code == .success ? min(Int(clamping: length), buffer.count) : buffer.count
            defer { if let start = buffer.baseAddress { unsafe explicit_bzero(start, written) } }
            guard code == .success else { return (code, []) }
            guard let count = Int(exactly: length), count <= buffer.count else { return (.insufficientBuffer, []) }
            // Some drivers return success when the card is removed before it answers.
            guard count > 0 else { return (.notTransacted, []) }
            return (code, unsafe Array(buffer.prefix(count)))
        }
    }

    /// Sends a control code to the reader's driver. Wraps SCardControl.
    ///
    /// - Parameters:
    ///   - limit: bytes that the answer may have.
    ///   - time: the time that it may take, where a person types on the reader's keys; nil for that of other calls.
    func control(
        _ code: UInt32, _ input: [UInt8], limit: Int, atMost time: Duration? = nil
    ) -> (code: PCSCCode, answer: [UInt8]) {
        var answer = [UInt8](repeating: 0, count: limit)
        var length: DWORD = 0
        let result = call(atMost: time ?? self.limit) {
            unsafe SCardControl(
                handle, DWORD(code), input, DWORD(input.count), &answer, DWORD(answer.count), &length)
        }
        return (result, result == .success ? Array(answer.prefix(Int(clamping: length))) : [])
    }

    /// Ends the connection. Wraps SCardDisconnect.
    ///
    /// A reset waits while another program holds a transaction.
    func disconnect(_ disposition: Disposition) {
        let wasOpen = isOpen.exchange(false, ordering: .acquiringAndReleasing)
        guard wasOpen, context.isOwn else { return }
        // The service delays a reset until another program's transaction ends.
        _ = context.call(atMost: disposition == .reset ? nil : limit) { SCardDisconnect(handle, disposition.word) }
    }

    /// `SCARD_ATTR_DEVICE_FRIENDLY_NAME`, a macro with arguments that Swift does not import.
    private static let friendlyName: DWORD = 0x7FFF << 16 | 0x0003
}
