/// Tells a running virtual card what to do, through its control socket.
public enum VirtualCardControl {
    /// Bytes of the longest order or answer.
    static let lineLimit = 1024

    /// Sends an order and waits until it has been carried out.
    ///
    /// - Returns: for ``ControlOrder/status`` the card's values by name; otherwise none.
    /// - Throws: ``VirtualCardError`` `.unreachable` where no card runs, `.refused` with the card's reason.
    @discardableResult
    public static func send(
        _ order: ControlOrder, to path: String
    ) throws(VirtualCardError) -> [(name: String, value: String)] {
        guard let socket = try Socket.connect(path: path) else {
            throw VirtualCardError(.unreachable, "no virtual card runs at \(path): start one with virtual-card run")
        }
        guard socket.send(Array((order.line + "\n").utf8)), let answer = receiveLine(from: socket) else {
            throw VirtualCardError(.unreachable, "the virtual card at \(path) ended before it answered")
        }
        let words = answer.split(separator: " ")
        guard words.first == "ok" else {
            throw VirtualCardError(.refused, String(answer.drop { $0 != " " }.dropFirst()))
        }
        return words.dropFirst().map { word in
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
        }
    }

    /// The limit of the wait for a line.
    struct Limit {
        let deadline: ContinuousClock.Instant
        /// The signal that ends the wait early.
        let wakeUp: WakeUp

        /// Whether there is something to read in time.
        func allowsReading(_ socket: Socket) -> Bool {
            let left = deadline - .now
            guard left > .zero else { return false }
            return Socket.readable([socket.descriptor, wakeUp.descriptor], timeout: left) == [socket.descriptor]
        }
    }

    /// One line, without its end; nil where none comes.
    static func receiveLine(from socket: Socket, within limit: Limit? = nil) -> String? {
        var bytes: [UInt8] = []
        while bytes.count < lineLimit {
            guard limit?.allowsReading(socket) ?? true else { return nil }
            let more = socket.receive(upTo: lineLimit - bytes.count)
            if more.isEmpty { return nil }
            bytes += more
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
        }
        return nil
    }
}
