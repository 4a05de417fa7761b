internal import Glibc
internal import Synchronization

/// A mark that a child by fork does not have, as long as it has not set it itself.
///
/// It lies in memory that the kernel fills with zeros for the child, so that to look at it takes no system call.
enum ProcessMark {
    /// Nil where the kernel does not know such memory: then the mark is never there.
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

    /// - Returns: whether it was not set.
    static func set() -> Bool { unsafe mark.map { unsafe !$0.pointee.exchange(true, ordering: .relaxed) } ?? true }
}
