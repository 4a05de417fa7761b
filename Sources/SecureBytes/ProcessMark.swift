internal import Glibc
internal import Synchronization

/// A mark that a child by fork does not have, unless it has set the mark itself.
///
/// It is in memory that the kernel fills with zeros for the child, so that reading it takes no system call.
enum ProcessMark {
    /// Nil where the kernel lacks such memory: the mark is never set then.
    nonisolated(unsafe) private static let mark: UnsafeMutablePointer<Atomic<Bool>>? = {
        let length = sysconf(Int32(_SC_PAGESIZE))
        let address = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else { return nil }
        guard unsafe madvise(address, length, MADV_WIPEONFORK) == 0 else {
            _ = unsafe munmap(address, length)
            return nil
        }
        return unsafe address.bindMemory(to: Atomic<Bool>.self, capacity: 1)
    }()

    static var isSet: Bool { unsafe mark?.pointee.load(ordering: .relaxed) ?? false }

    /// - Returns: true where the mark was not set before.
    static func set() -> Bool { unsafe mark.map { unsafe !$0.pointee.exchange(true, ordering: .relaxed) } ?? true }
}
