internal import Glibc
internal import Wire
internal import WireTransport

/// Connections whose client has not sent all of its hello. They have no thread and end soon, so that a program which
/// opens connections and sends nothing, or half a message, takes little from the host's clients.
struct PendingGreetings {
    private var pending: [PendingGreeting] = []

    /// Connections at a time. Beyond them, the process with most of them loses its oldest one. A client sends its hello at once.
    static let maximumCount = 64

    mutating func append(_ greeting: PendingGreeting) {
        pending.append(greeting)
        guard pending.count > PendingGreetings.maximumCount else { return }
        var counts: [Int32: Int] = [:]
        for greeting in pending { counts[greeting.peer.process, default: 0] += 1 }
        let most = counts.max { $0.value < $1.value }?.key
        if let oldest = pending.firstIndex(where: { $0.peer.process == most }) { pending.remove(at: oldest) }
    }

    var isEmpty: Bool { pending.isEmpty }

    /// The sockets that are waited for, in the order of ``advance(_:)``.
    var watched: [pollfd] { pending.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) } }

    /// Reads the received bytes, and closes connections that sent other bytes or whose time is over.
    ///
    /// - Parameter watched: ``watched`` after `poll`.
    /// - Returns: the greetings that are complete.
    mutating func advance(_ watched: ArraySlice<pollfd>) -> [(greeting: PendingGreeting, message: FirstMessage)] {
        var (complete, incomplete): ([(PendingGreeting, FirstMessage)], [PendingGreeting]) = ([], [])
        let now = ContinuousClock.now
        for (var greeting, state) in zip(pending, watched) {
            switch state.revents == 0 ? .incomplete : greeting.read() {
            case .incomplete: if now < greeting.deadline { incomplete.append(greeting) }
            case .complete(let message): complete.append((greeting, message))
            case .invalid: break
            }
        }
        pending = incomplete
        return complete
    }
}

/// A connection with the part of its first message that has come.
struct PendingGreeting {
    let socket: FrameSocket
    let peer: Peer
    /// Whether it came to the socket for clients on other machines.
    let isRemote: Bool
    let deadline: ContinuousClock.Instant

    private var header: FrameHeader?
    private var bytes: [UInt8] = []

    static let patience: Duration = .seconds(10)

    enum Progress {
        case incomplete
        case complete(FirstMessage)
        /// The client is gone, or sent something else.
        case invalid
    }

    init(_ socket: FrameSocket, _ peer: Peer, isRemote: Bool = false) {
        self.socket = socket
        self.peer = peer
        self.isRemote = isRemote
        deadline = .now + PendingGreeting.patience
    }

    /// Reads the received part of the message, and no byte behind it, since descriptors come with later messages.
    mutating func read() -> Progress {
        while true {
            let wanted = header?.fieldCount ?? FrameHeader.byteCount
            if bytes.count == wanted {
                guard let header else {
                    guard let header = try? FrameHeader(parsing: bytes), FirstMessage.isFirst(header) else {
                        return .invalid
                    }
                    (self.header, bytes) = (header, [])
                    continue
                }
                return FirstMessage(header, bytes).map(Progress.complete) ?? .invalid
            }
            // Memory grows with the received bytes only, whatever length the header announces.
            let offset = bytes.count
            let count = socket.receive(upTo: min(wanted - offset, PendingGreeting.chunk), appendingTo: &bytes)
            if count < 0, errno == EAGAIN { return .incomplete }
            guard count > 0 else { return .invalid }
        }
    }

    private static let chunk = 16 << 10
}
