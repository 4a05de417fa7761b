internal import SecureBytes
internal import Synchronization

/// Puts a virtual card into the reader that vpcd gives to pcscd.
///
/// vpcd listens; a card that connects is inserted, one that disconnects is removed. Each message is a length of two
/// octets and that many bytes: a single byte is an order of the reader, more bytes are a command APDU. APDUs, and the order
/// for the answer to reset, are answered in the same form.
public final class VPCDLink: Sendable {
    /// The port on which vpcd listens, unless it was built otherwise.
    public static let defaultPort: UInt16 = 35_963

    private enum Order {
        static let powerOff: UInt8 = 0
        static let powerOn: UInt8 = 1
        static let reset: UInt8 = 2
        static let answerToReset: UInt8 = 4
    }

    private struct State {
        var isInserted = false
        var isStopped = false
        var connection: Socket?
        var commandCount = 0
        var byteCount = 0
    }

    /// The pause before vpcd is tried again.
    private static let retryInterval = Duration.milliseconds(100)

    /// The faults of the connection. `.reset` clears the card's state without the reader's knowledge; `.drop` removes the card
    /// and inserts it again, as a reader does with a card that does not answer.
    public let faults = FaultPlan()

    public let card: VirtualCard
    private let connect: @Sendable () throws(VirtualCardError) -> Socket?
    private let delay: Duration
    private let wakeUp: WakeUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - port: the port of this machine on which vpcd listens.
    ///   - delay: the time that is added to each command. A command to a real card takes 10 to 50 ms.
    public convenience init(
        card: VirtualCard, port: UInt16 = defaultPort, delay: Duration = .zero
    ) throws(VirtualCardError) {
        try self.init(
            card: card, delay: delay, through: { () throws(VirtualCardError) in try Socket.connect(port: port) })
    }

    /// - Parameter open: opens a connection to a vpcd that is elsewhere, and returns its descriptor, which this object closes;
    ///   nil where no process listens.
    package convenience init(
        card: VirtualCard, connecting open: @escaping @Sendable () -> Int32?
    ) throws(VirtualCardError) {
        try self.init(card: card, through: { open().map { Socket(adopting: $0) } })
    }

    private init(
        card: VirtualCard, delay: Duration = .zero,
        through connect: @escaping @Sendable () throws(VirtualCardError) -> Socket?
    ) throws(VirtualCardError) {
        self.card = card
        self.delay = delay
        self.connect = connect
        wakeUp = try WakeUp()
    }

    /// Inserts the card: as soon as vpcd listens, and again whenever it comes back.
    public func insert() {
        state.withLock { $0.isInserted = true }
        wakeUp.signal()
    }

    /// Takes the card out, also while a command is under way.
    public func remove() {
        state.withLock { state in
            state.isInserted = false
            state.connection?.shutDown()
        }
        card.stopWaiting()
        wakeUp.signal()
    }

    /// Ends ``run()``.
    public func stop() {
        state.withLock { state in
            state.isStopped = true
            state.connection?.shutDown()
        }
        card.stopWaiting()
        wakeUp.signal()
    }

    /// Whether the card is to be in the reader.
    public var isInserted: Bool { state.withLock { $0.isInserted } }

    /// Whether vpcd has the card.
    public var isConnected: Bool { state.withLock { $0.connection != nil } }

    /// The number of commands that were answered.
    public var commandCount: Int { state.withLock { $0.commandCount } }

    /// The number of bytes of all commands and answers.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Serves the reader on the calling thread until ``stop()``.
    ///
    /// - Parameter onWaiting: called once, if vpcd does not listen.
    public func run(onWaiting: () -> Void = {}) throws(VirtualCardError) {
        var hasWaited = false
        while true {
            wakeUp.clear()
            let (isInserted, isStopped) = state.withLock { ($0.isInserted, $0.isStopped) }
            if isStopped { return }
            guard isInserted else {
                _ = Socket.readable([wakeUp.descriptor])
                continue
            }
            guard let socket = try connect() else {
                if !hasWaited { onWaiting() }
                hasWaited = true
                _ = Socket.readable([wakeUp.descriptor], timeout: VPCDLink.retryInterval)
                continue
            }
            guard hold(socket) else {
                _ = Socket.readable([wakeUp.descriptor], timeout: VPCDLink.retryInterval)
                continue
            }
            serve(socket)
            state.withLock { $0.connection = nil }
            card.reset()
        }
    }

    /// Stores a connection, unless the card has been removed in between.
    private func hold(_ socket: Socket) -> Bool {
        state.withLock { state in
            guard state.isInserted, !state.isStopped else { return false }
            state.connection = socket
            return true
        }
    }

    /// Answers messages until either side ends the connection.
    private func serve(_ socket: Socket) {
        while let message = receive(from: socket) {
            switch message.first {
            case nil: return
            case Order.answerToReset where message.count == 1:
                guard send(card.profile.atr, to: socket) else { return }
            case Order.powerOff where message.count == 1, Order.powerOn where message.count == 1,
                Order.reset where message.count == 1:
                card.reset()
            default:
                guard let answer = answer(to: message) else { return }
                if delay > .zero { SystemClock().sleep(for: delay) }
                state.withLock { state in
                    state.commandCount &+= 1
                    state.byteCount &+= message.count &+ answer.count
                }
                guard send(answer, to: socket) else { return }
            }
        }
    }

    /// The card's answer, or nil where the card is lost.
    private func answer(to command: [UInt8]) -> [UInt8]? {
        switch faults.exchange(command, with: card) {
        case .answer(let answer): return answer
        case .noAnswer: return nil
        case .reset:
            card.reset()
            return card.process(command)
        case .removed:
            remove()
            return nil
        }
    }

    private func receive(from socket: Socket) -> [UInt8]? {
        guard let length = socket.receive(exactly: 2) else { return nil }
        socket.acknowledgeQuickly()
        let message = socket.receive(exactly: Int(bigEndianBytes: length))
        socket.acknowledgeQuickly()
        return message
    }

    private func send(_ bytes: [UInt8], to socket: Socket) -> Bool {
        let message = bytes.prefix(Int(UInt16.max))
        return socket.send(UInt16(truncatingIfNeeded: message.count).bigEndianBytes + message)
    }
}
