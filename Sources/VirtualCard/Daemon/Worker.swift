internal import Glibc

/// A thread that does one thing and ends.
@safe
final class Worker: Sendable {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    private let thread: pthread_t

    /// Starts the thread.
    init(_ run: @escaping @Sendable () -> Void) throws(VirtualCardError) {
        let body = unsafe Unmanaged.passRetained(Body(run))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                }
                return nil
            }, body.toOpaque())
        guard result == 0 else {
            unsafe body.release()
            throw VirtualCardError(.unreachable, "cannot start a thread")
        }
        self.thread = thread
    }

    /// Waits until the thread has ended. To be called once.
    func join() {
        _ = pthread_join(thread, nil)
    }
}
