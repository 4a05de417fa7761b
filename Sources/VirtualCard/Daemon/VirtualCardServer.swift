internal import Glibc
internal import Synchronization

/// A virtual card in the reader of a real pcscd, with a socket over which it takes orders.
public final class VirtualCardServer: Sendable {
    private let link: VPCDLink
    /// The card that is served.
    public var card: VirtualCard { link.card }

    private let control: Socket
    private let controlPath: String
    private let wakeUp: WakeUp
    private let patience: Duration
    private let failure = Mutex<VirtualCardError?>(nil)

    /// - Parameters:
    ///   - controlPath: the socket for ``VirtualCardControl``, which only this user can reach.
    ///   - port: the port of this machine on which vpcd listens.
    ///   - delay: the delay of ``VPCDLink``.
    ///   - patience: the time that a client may take to send its order.
    /// - Throws: ``VirtualCardError`` `.refused` where a card runs at that path already.
    public init(
        card: VirtualCard, controlPath: String, port: UInt16 = VPCDLink.defaultPort, delay: Duration = .zero,
        patience: Duration = .seconds(1)
    ) throws(VirtualCardError) {
        link = try VPCDLink(card: card, port: port, delay: delay)
        control = try Socket.listen(path: controlPath)
        self.controlPath = controlPath
        self.patience = patience
        wakeUp = try WakeUp()
    }

    deinit {
        _ = unsafe unlink(controlPath)
    }

    /// Serves reader and socket until the order ``ControlOrder/stop``.
    ///
    /// A signal may end the process at any time: the card is stored by then, and the next process takes over the socket.
    ///
    /// - Parameters:
    ///   - isInserted: whether the card is in the reader from the start.
    ///   - onWaiting: called once, if vpcd does not listen.
    public func run(
        inserted isInserted: Bool = true, onWaiting: @escaping @Sendable () -> Void = {}
    ) throws(VirtualCardError) {
        if isInserted { link.insert() }
        let reader = try Worker { self.serveReader(onWaiting) }
        takeOrders()
        link.stop()
        reader.join()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    /// Ends ``run(inserted:onWaiting:)``.
    public func stop() {
        wakeUp.signal()
    }

    private func serveReader(_ onWaiting: () -> Void) {
        do {
            try link.run(onWaiting: onWaiting)
        } catch {
            failure.withLock { $0 = error }
            stop()
        }
    }

    private func takeOrders() {
        while true {
            let ready = Socket.readable([control.descriptor, wakeUp.descriptor])
            if ready.contains(wakeUp.descriptor) { return }
            guard ready.contains(control.descriptor), let client = control.accept() else { continue }
            // A client that does not finish its order must not delay other clients or `stop()`.
            let limit = VirtualCardControl.Limit(deadline: .now + patience, wakeUp: wakeUp)
            guard let line = VirtualCardControl.receiveLine(from: client, within: limit) else { continue }
            let order = ControlOrder(parsing: line)
            _ = client.send(Array((answer(to: order) + "\n").utf8))
            if order == .stop { return }
        }
    }

    private func answer(to order: ControlOrder?) -> String {
        switch order {
        case nil: return "error not an order"
        case .insert: link.insert()
        case .remove: link.remove()
        case .touch: link.card.touch()
        case .fault(let fault, let index): link.faults.order(fault, at: index)
        case .clearFaults: link.faults.clear()
        case .status: return status
        case .stop: break
        }
        return "ok"
    }

    private var status: String {
        let fields = [
            ("profile", link.card.profile.name), ("inserted", link.isInserted ? "yes" : "no"),
            ("connected", link.isConnected ? "yes" : "no"), ("touch", link.card.awaitsTouch ? "awaited" : "no"),
            ("commands", String(link.commandCount)), ("bytes", String(link.byteCount)),
            ("faults", String(link.faults.count)),
        ]
        return "ok " + fields.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    }
}
