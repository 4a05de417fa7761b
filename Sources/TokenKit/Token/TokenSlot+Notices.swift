internal import Glibc
internal import Synchronization

// Telling a person that a card is waited for.
extension TokenSlot {
    /// A notice that begins when a card is held elsewhere. The returned function ends it, and may be called more than
    /// once.
    public typealias WaitNotice = @Sendable (_ reader: String) -> @Sendable () -> Void

    /// The notices of threads. A call waits on the thread of its caller.
    private static let notices = Mutex<[pthread_t: WaitNotice]>([:])

    /// Has a notice told where the present thread waits for a card during `body`.
    public static func telling<Result, Failure>(
        ofWaits notice: @escaping WaitNotice, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let thread = pthread_self()
        let former = notices.withLock { $0.updateValue(notice, forKey: thread) }
        defer { notices.withLock { $0[thread] = former } }
        return try body()
    }

    static var noticeOfThread: WaitNotice? { notices.withLock { $0[pthread_self()] } }
}
