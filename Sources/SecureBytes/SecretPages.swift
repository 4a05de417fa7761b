internal import Glibc
internal import Synchronization

/// Memory pages for secrets: locked, left out of core dumps, and zeroed in a child by fork and between uses.
///
/// Mapping, locking and unmapping a page takes longer than most operations with a secret, so a few pages are kept. There is no
/// lock, which one thread could hold while another one forks.
enum SecretPages {
    private static let spares = InlineArray<8, Atomic<UInt>> { _ in Atomic(0) }
    private static let size = sysconf(Int32(_SC_PAGESIZE))

    /// Takes pages of their own for `count` bytes, which are zero; none for 0.
    static func take(for count: Int) -> UnsafeMutableRawBufferPointer {
        guard count > 0 else { return unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        if count <= size, let page = unsafe takeSpare() {
            return unsafe UnsafeMutableRawBufferPointer(start: page, count: count)
        }
        let length = wholePages(count)
        let address = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address = unsafe address, unsafe address != MAP_FAILED else {
            // Out of memory: the standard library's allocator ends the process for an array in the same case.
            preconditionFailure("no memory for a secret of \(count) bytes")
        }
        // The kernel may refuse each call (RLIMIT_MEMLOCK, an old kernel). The secret is zeroed at its end all the same.
        _ = unsafe mlock(address, length)
        _ = unsafe madvise(address, length, MADV_DONTDUMP)
        // Otherwise a child would keep the secret while it runs, in memory that is not locked.
        _ = unsafe madvise(address, length, MADV_WIPEONFORK)
        return unsafe UnsafeMutableRawBufferPointer(start: address, count: count)
    }

    private static func wholePages(_ count: Int) -> Int { (count + size - 1) / size * size }

    /// Zeroes the bytes, whose number was taken: a page's others are zero.
    static func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
        guard let start = memory.baseAddress else { return }
        unsafe explicit_bzero(start, memory.count)
        if memory.count <= size, unsafe keep(start) { return }
        _ = unsafe munmap(start, wholePages(memory.count))
    }

    private static func takeSpare() -> UnsafeMutableRawPointer? {
        guard ProcessMark.isSet else { return nil }
        for index in spares.indices {
            let address = spares[index].exchange(0, ordering: .acquiring)
            if address != 0 { return unsafe UnsafeMutableRawPointer(bitPattern: address) }
        }
        return nil
    }

    private static func keep(_ page: UnsafeMutableRawPointer) -> Bool {
        // A child of the process has the pages, but not their locks.
        if ProcessMark.set() { for index in spares.indices { spares[index].store(0, ordering: .relaxed) } }
        // A system that cannot mark a process would hand the parent's pages to a child.
        guard ProcessMark.isSet else { return false }
        for index in spares.indices
        where spares[index].compareExchange(expected: 0, desired: UInt(bitPattern: page), ordering: .releasing)
            .exchanged
        {
            return true
        }
        return false
    }
}
