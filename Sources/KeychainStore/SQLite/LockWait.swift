internal import CSQLite
internal import Glibc

/// The wait of a connection for a lock that another process holds: it looks again every two milliseconds.
///
/// `sqlite3_busy_timeout` looks only every 100 ms. Between two changes of a process that writes without a pause the file is
/// free for less than a millisecond, so that a second process missed it for seconds.
enum LockWait {
    /// The pause between two looks, in milliseconds.
    private static let pause = 2

    /// The pause before another look, in milliseconds; nil once `limit` milliseconds have gone by.
    static func pause(afterLooks count: Int, limit: Int) -> Int? {
        let rest = limit - count * pause
        return rest > 0 ? min(pause, rest) : nil
    }

    /// Makes the calls of a connection wait for at most `limit` milliseconds. Wraps `sqlite3_busy_handler`.
    static func limit(_ handle: OpaquePointer, to limit: Int32) {
        let look: @convention(c) (UnsafeMutableRawPointer?, Int32) -> Int32 = { limit, count in
            guard let pause = LockWait.pause(afterLooks: Int(count), limit: Int(bitPattern: limit)) else {
                return 0
            }
            usleep(UInt32(pause) * 1000)
            return 1
        }
        unsafe sqlite3_busy_handler(handle, look, UnsafeMutableRawPointer(bitPattern: Int(limit)))
    }
}
