internal import CPCSC
internal import Glibc
internal import SecureBytes
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
    private let isOpen = Atomic(true)

    /// The protocol that was negotiated when the connection was made.
    let initialProtocol: CardLink.TransmissionProtocol

    /// Connects to the card in a reader. Wraps SCardConnect.
    ///
    /// Waits while another program holds a transaction.
    init(reader: String, sharing: PCSCReader.Sharing) throws(CardError) {
        context = try PCSCContext()
        let sharing = DWORD(sharing == .exclusive ? SCARD_SHARE_EXCLUSIVE : SCARD_SHARE_SHARED)
        self.sharing = sharing
        var handle: SCARDHANDLE = 0
        var active: DWORD = 0
        cpcsc_begin_call()
        var code = PCSCCode(
            unsafe SCardConnect(context.handle, reader, sharing, PCSCHandle.protocols, &handle, &active))
        if code == .unpoweredCard {
            // A program has powered the card off. A direct connection powers it on again.
            cpcsc_begin_call()
            code = PCSCCode(
                unsafe SCardConnect(context.handle, reader, DWORD(SCARD_SHARE_DIRECT), 0, &handle, &active))
            if code == .success {
                code = PCSCHandle.waiting {
                    let (code, now) = PCSCHandle.reconnect(handle, sharing, .reset)
                    active = now
                    return code
                }
                if code != .success { _ = SCardDisconnect(handle, Disposition.leave.word) }
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

    /// Whether calls may be made: not after ``disconnect(_:)``, nor where a call has not returned, nor in a child of the process
    /// that connected.
    var isUsable: Bool { isOpen.load(ordering: .acquiring) && context.isOwn }

    /// The card's answer to reset. Wraps SCardStatus.
    func answerToReset() -> (code: PCSCCode, atr: ATR) {
        var atr = [UInt8](repeating: 0, count: ATR.maximumLength)
        var (nameLength, state, active, length): (DWORD, DWORD, DWORD, DWORD) = (0, 0, 0, DWORD(atr.count))
        cpcsc_begin_call()
        let code = PCSCCode(unsafe SCardStatus(handle, nil, &nameLength, &state, &active, &atr, &length))
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
            cpcsc_begin_call()
            let code = PCSCCode(
                unsafe SCardGetAttrib(handle, PCSCHandle.friendlyName, name.baseAddress, &length))
            return code == .unsupportedFeature ? .success : code
        }
    }

    /// Wraps SCardBeginTransaction.
    func begin() -> PCSCCode {
        cpcsc_begin_call()
        return PCSCCode(SCardBeginTransaction(handle))
    }

    /// Wraps SCardEndTransaction.
    func end() -> PCSCCode {
        cpcsc_begin_call()
        return PCSCCode(SCardEndTransaction(handle, Disposition.leave.word))
    }

    /// Acknowledges a reset. Wraps SCardReconnect.
    ///
    /// The service reports a card that was powered off as one that was reset. It is powered on again here: nothing is lost by
    /// that, and no program could use the card otherwise.
    func reconnect() -> (code: PCSCCode, protocol: CardLink.TransmissionProtocol) {
        var (code, active) = PCSCHandle.reconnect(handle, sharing, .leave)
        if code == .success, !isPowered { (code, active) = PCSCHandle.reconnect(handle, sharing, .reset) }
        return (code, active == DWORD(SCARD_PROTOCOL_T0) ? .t0 : .t1)
    }

    private static func reconnect(
        _ handle: SCARDHANDLE, _ sharing: DWORD, _ disposition: Disposition
    ) -> (code: PCSCCode, active: DWORD) {
        var active: DWORD = 0
        cpcsc_begin_call()
        let code = unsafe SCardReconnect(handle, sharing, PCSCHandle.protocols, disposition.word, &active)
        return (PCSCCode(code), active)
    }

    /// Whether the card has power; true where that is unknown. Wraps SCardStatus.
    private var isPowered: Bool {
        var (nameLength, state, active, length): (DWORD, DWORD, DWORD, DWORD) = (0, 0, 0, 0)
        cpcsc_begin_call()
        let code = PCSCCode(unsafe SCardStatus(handle, nil, &nameLength, &state, &active, nil, &length))
        return code != .success || state & DWORD(SCARD_POWERED) != 0
    }

    /// Sends one command. Wraps SCardTransmit.
    ///
    /// - Parameter limit: the time that the card may take, since the call itself has no limit. After it, the call is left to its
    ///   own thread, and the connection is no longer used.
    func transmit(
        _ command: Span<UInt8>, _ protocol: CardLink.TransmissionProtocol, atMost limit: Duration?
    ) -> (code: PCSCCode, response: [UInt8]) {
        guard let limit else { return transmit(command, `protocol`) }
        let sent = SentCommand(command)
        let answer = BlockingThread.run(atMost: limit) { [self] in
            let (code, response) = transmit(sent.bytes, `protocol`)
            return ReceivedAnswer(code, response)
        }
        guard let answer else {
            isOpen.store(false, ordering: .releasing)
            context.abandon()
            return (.timeout, [])
        }
        return (answer.code, answer.takeBytes())
    }

    private func transmit(
        _ command: borrowing Secret, _ protocol: CardLink.TransmissionProtocol
    ) -> (code: PCSCCode, response: [UInt8]) {
        let bytes = command.bytes
        return transmit(bytes, `protocol`)
    }

    private func transmit(
        _ command: Span<UInt8>, _ protocol: CardLink.TransmissionProtocol
    ) -> (code: PCSCCode, response: [UInt8]) {
        let word = UInt(`protocol` == .t0 ? SCARD_PROTOCOL_T0 : SCARD_PROTOCOL_T1)
        var control = SCARD_IO_REQUEST(dwProtocol: word, cbPciLength: UInt(MemoryLayout<SCARD_IO_REQUEST>.size))
        var length = DWORD(ResponseAPDU.maximumLength)
        return unsafe withUnsafeTemporaryAllocation(
            byteCount: ResponseAPDU.maximumLength, alignment: 1
        ) { buffer in
            cpcsc_begin_call()
            let code = unsafe command.withUnsafeBufferPointer { command in
                PCSCCode(
                    unsafe SCardTransmit(
                        handle, &control, command.baseAddress, DWORD(command.count), nil,
                        buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &length))
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

    /// Sends a control code to the reader's driver, which may take any time. Wraps SCardControl.
    ///
    /// - Parameter limit: bytes that the answer may have.
    func control(_ code: UInt32, _ input: [UInt8], limit: Int) -> (code: PCSCCode, answer: [UInt8]) {
        var answer = [UInt8](repeating: 0, count: limit)
        var length: DWORD = 0
        cpcsc_begin_call()
        let result = PCSCCode(
            unsafe SCardControl(
                handle, DWORD(code), input, DWORD(input.count), &answer, DWORD(answer.count), &length))
        return (result, result == .success ? Array(answer.prefix(Int(clamping: length))) : [])
    }

    /// Ends the connection. Wraps SCardDisconnect.
    ///
    /// A reset waits while another program holds a transaction.
    func disconnect(_ disposition: Disposition) {
        let wasOpen = isOpen.exchange(false, ordering: .acquiringAndReleasing)
        guard wasOpen, context.isOwn else { return }
        cpcsc_begin_call()
        SCardDisconnect(handle, disposition.word)
    }

    /// `SCARD_ATTR_DEVICE_FRIENDLY_NAME`, a macro with arguments that Swift does not import.
    private static let friendlyName: DWORD = 0x7FFF << 16 | 0x0003
}

/// A command that lives until the call that sends it returns, even where no caller waits.
private final class SentCommand: Sendable {
    let bytes: Secret

    init(_ command: Span<UInt8>) {
        bytes = Secret(copying: command)
    }
}

/// The result of a call. Bytes that no caller takes are overwritten.
private final class ReceivedAnswer: Sendable {
    let code: PCSCCode
    private let bytes: Mutex<[UInt8]>

    init(_ code: PCSCCode, _ bytes: consuming [UInt8]) {
        self.code = code
        self.bytes = Mutex(bytes)
    }

    deinit {
        bytes.withLock { $0.wipe() }
    }

    func takeBytes() -> [UInt8] {
        bytes.withLock { bytes in
            let taken = bytes
            bytes = []
            return taken
        }
    }
}
