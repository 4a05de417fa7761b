internal import CLinux
internal import Glibc
internal import Synchronization

/// Turns SIGTERM and SIGINT into a readable descriptor, for `poll` together with a socket.
package enum EndSignal {
    private static let event = Atomic<Int32>(-1)

    /// - Returns: a descriptor that is readable once one of the signals has come; negative where none can be made.
    package static func `catch`() -> Int32 {
        let descriptor = clinux_event()
        event.store(descriptor, ordering: .sequentiallyConsistent)
        for number in [SIGTERM, SIGINT] {
            signal(number) { _ in
                var one: UInt64 = 1
                _ = unsafe write(EndSignal.event.load(ordering: .sequentiallyConsistent), &one, 8)
            }
        }
        return descriptor
    }
}
