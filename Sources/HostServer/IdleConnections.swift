internal import CLinux
internal import Platform
internal import Synchronization

/// Connections over which nothing comes. One thread waits for all of them, so that an idle client costs no thread of its own.
///
/// The thread reads nothing and ends nothing, which could block: it only starts a thread for a connection over which something comes.
final class IdleConnections: Sendable {
    static let shared = IdleConnections()

    /// Starts a thread; false where the system has none left.
    typealias ThreadStart = @Sendable (@escaping @Sendable () -> Void) -> Bool

    private struct Parked {
        let descriptors: [Int32]
        let resume: @Sendable () -> Void
        let withoutThread: @Sendable () -> Void
    }

    private struct State {
        var last: UInt64 = 0
        var parked: [UInt64: Parked] = [:]
        var hasThread = false
    }

    /// The queue of epoll(7); negative where none could be made.
    private let queue = clinux_queue()
    private let start: ThreadStart
    private let state = Mutex(State())

    /// - Parameter start: starts the threads that go on with connections.
    init(startingBy start: @escaping ThreadStart = { BlockingThread.start($0) }) { self.start = start }

    /// The number of connections that have no thread.
    var count: Int { state.withLock(\.parked.count) }

    /// Waits until one of the descriptors is readable, also by its end. Their owner must go on with them then.
    ///
    /// - Parameters:
    ///   - descriptors: negative ones count for nothing. They stay open as long as `resume` is kept.
    ///   - resume: called once, on a thread of its own.
    ///   - withoutThread: called instead, on the thread that waits for all connections, where no thread can be started.
    /// - Returns: false where the system cannot wait for them: neither is called.
    func park(
        _ descriptors: [Int32], resume: @escaping @Sendable () -> Void, withoutThread: @escaping @Sendable () -> Void
    ) -> Bool {
        guard queue >= 0 else { return false }
        return state.withLock { state in
            if !state.hasThread { state.hasThread = BlockingThread.start { [self] in while true { look() } } }
            guard state.hasThread else { return false }
            state.last += 1
            let descriptors = descriptors.filter { $0 >= 0 }
            for (index, descriptor) in descriptors.enumerated() {
                guard clinux_await(queue, descriptor, state.last) == 0 else {
                    forget(descriptors.prefix(index))
                    return false
                }
            }
            state.parked[state.last] = Parked(
                descriptors: descriptors, resume: resume, withoutThread: withoutThread)
            return true
        }
    }

    private func look() {
        var ready = [UInt64](repeating: 0, count: 64)
        let count = unsafe clinux_ready(queue, &ready, Int32(ready.count))
        for number in ready.prefix(Int(max(count, 0))) {
            guard let parked = take(number) else { continue }
            if !start(parked.resume) { parked.withoutThread() }
        }
    }

    /// - Returns: nil where another of its descriptors was readable before.
    private func take(_ number: UInt64) -> Parked? {
        state.withLock { state in
            guard let parked = state.parked.removeValue(forKey: number) else { return nil }
            forget(parked.descriptors[...])
            return parked
        }
    }

    /// A descriptor that was closed without this would go on to be reported while another process has a copy of it.
    private func forget(_ descriptors: ArraySlice<Int32>) {
        for descriptor in descriptors { _ = clinux_end_await(queue, descriptor) }
    }
}
