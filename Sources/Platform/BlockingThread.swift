internal import Glibc
internal import Synchronization

/// A thread for calls that may block for any time.
///
/// Signals are delivered to the program's own threads. There is no thread pool, which a `fork` would break.
package enum BlockingThread {
    /// Runs `body` on a thread of its own; false when the system has none left, so that `body` will not run.
    @discardableResult
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { unsafe pthread_attr_destroy(&attributes) }
        let context = unsafe Unmanaged.passRetained(Body(body))

        var all = sigset_t()
        var former = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &former)
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &former, nil) }

        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        if result != 0 { unsafe context.release() }
        return result == 0
    }

    /// The result of `call`, if it returns within `limit`.
    ///
    /// Otherwise the call goes on, on its thread, and its result is dropped when it returns. The result's `deinit` must undo the
    /// call's effects.
    ///
    /// - Parameter isCancelled: whether the caller no longer waits; asked every 50 ms.
    package static func run<Value: Sendable>(
        atMost limit: Duration, unless isCancelled: () -> Bool = { false }, _ call: @escaping @Sendable () -> Value
    ) -> Value? {
        let outcome = Outcome<Value>()
        let isStarted = start {
            outcome.set(call())
        }
        guard isStarted else { return call() }
        return outcome.take(within: limit, unless: isCancelled)
    }

    /// Runs calls at the same time, each on a thread of its own, and returns once all have returned or `limit` is over. The others go on.
    package static func runAll(_ calls: [@Sendable () -> Void], atMost limit: Duration) {
        let done = CountingSemaphore()
        for call in calls {
            let run = { @Sendable in
                call()
                done.signal()
            }
            if !start(run) { run() }
        }
        let end = ContinuousClock.now + limit
        for _ in calls { _ = done.wait(for: max(ContinuousClock.now.duration(to: end), .zero)) }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// A result that arrives later, and is dropped where no caller takes it.
    private final class Outcome<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        private let isSet = CountingSemaphore()

        func set(_ value: Value) {
            self.value.withLock { $0 = value }
            isSet.signal()
        }

        func take(within limit: Duration, unless isCancelled: () -> Bool) -> Value? {
            let deadline = ContinuousClock.now + limit
            var rest = limit
            while rest > .zero, !isCancelled(), !isSet.wait(for: min(rest, .milliseconds(50))) {
                rest = ContinuousClock.now.duration(to: deadline)
            }
            return value.withLock { value in
                defer { value = nil }
                return value
            }
        }
    }
}
