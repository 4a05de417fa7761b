internal import Glibc
internal import Platform
internal import Synchronization

/// Watches readers and the cards in them.
///
/// The first events report the readers and cards that are present. When the service ends, as pcscd does when idle, the monitor
/// waits for it to return. A monitor has its own connection to the service, and serves one watch.
///
///     for await event in ReaderMonitor.events() { print(event) }
public final class ReaderMonitor: Sendable {
    /// The most seconds of one wait. libpcsclite before 2.3 does not notice a reader that is plugged in between the listing and
    /// the wait. It is found after the wait.
    private static let longestWait = 2

    /// The pause before the next attempt to reach an absent service.
    private static let serviceRetry = Duration.milliseconds(500)

    private struct State {
        var context: PCSCContext?
        var isWaiting = false
        var isCancelled = false
    }

    private let state = Mutex(State())
    private let cancellation = CountingSemaphore()

    public init() {}

    /// The events of a watch, which ends when the stream is released.
    public static func events() -> AsyncStream<ReaderEvent> {
        AsyncStream { continuation in
            let monitor = ReaderMonitor()
            continuation.onTermination = { _ in monitor.cancel() }
            let isStarted = BlockingThread.start {
                monitor.run { continuation.yield($0) }
                continuation.finish()
            }
            if !isStarted { continuation.finish() }
        }
    }

    /// Watches, on the calling thread, until ``cancel()``.
    ///
    /// - Parameter report: called with each event, on this thread.
    public func run(_ report: (ReaderEvent) -> Void) {
        var states = ReaderStates()
        var isAvailable = true
        while !isCancelled {
            do throws(CardError) {
                let context = try PCSCContext()
                if !isAvailable { report(.serviceAvailable) }
                isAvailable = true
                try watch(on: context, &states, report)
            } catch {
                states.update(to: []).forEach(report)
                if isAvailable { report(.serviceUnavailable(error)) }
                isAvailable = false
                _ = cancellation.wait(for: ReaderMonitor.serviceRetry)
            }
        }
    }

    /// Ends the watch at once. It may be called from any thread and more than once.
    public func cancel() {
        // SCardCancel has no effect on a wait that is about to begin, so that it is repeated until no wait is left.
        while cancelOnce() { usleep(1_000) }
    }

    /// Cancels the wait once more, since it may have missed a cancellation; false where no wait is left. A child by `fork` has
    /// none, since the thread stayed in its parent.
    private func cancelOnce() -> Bool {
        state.withLock { state in
            if !state.isCancelled { cancellation.signal() }
            state.isCancelled = true
            guard state.isWaiting, let context = state.context, context.isOwn else { return false }
            context.cancel()
            return true
        }
    }

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Reads the readers' state, reports events and waits for changes, until it is cancelled or the service is lost.
    ///
    /// The end of a wait only means that the state is read again. Its return code is not used.
    private func watch(
        on context: PCSCContext, _ states: inout ReaderStates, _ report: (ReaderEvent) -> Void
    ) throws(CardError) {
        state.withLock { $0.context = context }
        defer { state.withLock { $0.context = nil } }
        var plugAndPlay = PCSCStatus(reader: PCSCStatus.plugAndPlay)
        while !isCancelled {
            guard let readers = try look(at: context) else { continue }
            let events = states.update(to: readers.map(\.snapshot))
            events.forEach(report)
            // The pause limits the rate of needless wake-ups, such as by other programs' connections.
            if events.isEmpty, cancellation.wait(for: .milliseconds(20)) { return }
            plugAndPlay = try wait(on: context, for: readers, plugAndPlay)
        }
    }

    /// The present state of the readers; nil where one of them was removed meanwhile.
    private func look(at context: PCSCContext) throws(CardError) -> [PCSCStatus]? {
        let unknown = try context.readerNames().map { PCSCStatus(reader: $0) }
        guard !unknown.isEmpty else { return [] }
        let (code, now) = context.statusChange(from: unknown, seconds: 0)
        switch code {
        case .success, .timeout: return now
        case .unknownReader: return nil
        default: throw CardError(code)
        }
    }

    private func wait(
        on context: PCSCContext, for readers: [PCSCStatus], _ plugAndPlay: PCSCStatus
    ) throws(CardError) -> PCSCStatus {
        let mayWait = state.withLock { state in
            state.isWaiting = !state.isCancelled
            return state.isWaiting
        }
        guard mayWait else { return plugAndPlay }
        let known = readers.map(\.known) + (readers.count < PCSCStatus.maximumCount ? [plugAndPlay.known] : [])
        let (code, now) = context.statusChange(from: known, seconds: ReaderMonitor.longestWait)
        state.withLock { $0.isWaiting = false }
        switch code {
        case .success, .timeout, .unknownReader, .cancelled: return now.last ?? plugAndPlay
        default: throw CardError(code)
        }
    }
}

extension PCSCStatus {
    fileprivate var snapshot: ReaderSnapshot {
        ReaderSnapshot(name: reader, presence: presence, changeCount: changeCount)
    }
}
