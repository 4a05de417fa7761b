import Foundation
import SecureBytes
import Synchronization

/// Searches of this process's memory.
public enum ProcessMemory {
    /// Held during a search: of two searches at a time, each would find the bytes that the other one has read.
    private static let oneAtATime = Mutex<Void>(())

    /// The number of copies of the bytes in memory, without the argument itself.
    public static func occurrences(of secret: borrowing Secret) throws -> Int {
        try oneAtATime.withLock { _ in try count(secret) }
    }

    /// Maps zeroed memory while no search runs, since a search that began before could read at its addresses.
    public static func map(_ size: Int) -> UnsafeMutableRawPointer? {
        let address = oneAtATime.withLock { _ in
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            return memory == MAP_FAILED ? 0 : UInt(bitPattern: memory)
        }
        return UnsafeMutableRawPointer(bitPattern: address)
    }

    private static let pageSize = UInt(sysconf(Int32(_SC_PAGESIZE)))

    private static func count(_ secret: borrowing Secret) throws -> Int {
        let size = 1 << 20
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer {
            room.initializeMemory(as: UInt8.self, repeating: 0)
            room.deallocate()
        }
        let memory = try descriptor("/proc/self/mem")
        defer { close(memory) }
        return try secret.bytes.withUnsafeBytes { needle in
            let own = [UnsafeRawBufferPointer(room), needle].map { buffer in
                let start = UInt(bitPattern: buffer.baseAddress)
                return start..<start + UInt(buffer.count)
            }
            // While other threads map memory, the list of mappings may have a place twice.
            var places: Set<UInt> = []
            for range in try presentRanges() {
                var position = range.lowerBound
                while position < range.upperBound {
                    let wanted = min(size, Int(range.upperBound - position))
                    let read = pread(memory, room.baseAddress, wanted, Int(bitPattern: position))
                    // Another thread unmapped the page.
                    guard read > 0 else {
                        position = (position / pageSize + 1) * pageSize
                        continue
                    }
                    for offset in try offsets(of: needle, in: UnsafeRawBufferPointer(rebasing: room[..<read])) {
                        let address = position + UInt(offset)
                        if !own.contains(where: { $0.contains(address) }) { places.insert(address) }
                    }
                    // The next position is far enough back for bytes that lie across the end.
                    position += UInt(read == wanted && wanted == size ? read - needle.count + 1 : read)
                }
            }
            return places.count
        }
    }

    private static func descriptor(_ path: String) throws -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return descriptor
    }

    private typealias MemMem =
        @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeMutableRawPointer?

    /// memmem(3), which Swift's import of libc lacks.
    private static let memmem = unsafeBitCast(dlsym(nil, "memmem"), to: MemMem?.self)

    private static func offsets(of needle: UnsafeRawBufferPointer, in room: UnsafeRawBufferPointer) throws -> [Int] {
        guard let memmem else { throw POSIXError(.ENOSYS) }
        // The last bytes are searched for, because the first ones of a number may be zeros, as most of memory is.
        let suffix = UnsafeRawBufferPointer(rebasing: needle.suffix(8))
        let prefixCount = needle.count - suffix.count
        guard let base = room.baseAddress, let wanted = suffix.baseAddress else { return [] }
        var (offsets, start) = ([Int](), prefixCount)
        while start < room.count, let found = memmem(base + start, room.count - start, wanted, suffix.count) {
            let offset = UnsafeRawPointer(found) - base - prefixCount
            // The bytes are compared one by one: memcmp has all of them in wide registers, which the dynamic linker may save on
            // the stack. memmem compares only the suffix.
            if needle.indices.allSatisfy({ room[offset + $0] == needle[$0] }) { offsets.append(offset) }
            start = offset + prefixCount + 1
        }
        return offsets
    }

    /// The writable memory that has pages, in memory or swapped out. Reading the rest would make pages of zeros, and a sanitizer
    /// maps gigabytes of it.
    private static func presentRanges() throws -> [Range<UInt>] {
        let pagemap = try descriptor("/proc/self/pagemap")
        defer { close(pagemap) }
        var ranges: [Range<UInt>] = []
        var entries = [UInt64](repeating: 0, count: 1 << 14)
        for mapping in try mappings() {
            var page = mapping.lowerBound / pageSize
            let end = mapping.upperBound / pageSize
            while page < end {
                let wanted = min(entries.count, Int(end - page)) * MemoryLayout<UInt64>.stride
                let read = entries.withUnsafeMutableBytes {
                    pread(pagemap, $0.baseAddress, wanted, Int(page) * MemoryLayout<UInt64>.stride)
                }
                // Another thread unmapped it.
                guard read >= MemoryLayout<UInt64>.stride else { break }
                let count = read / MemoryLayout<UInt64>.stride
                for index in 0..<count where entries[index] & presentOrSwapped != 0 {
                    let start = (page + UInt(index)) * pageSize
                    if let last = ranges.last, last.upperBound == start {
                        ranges[ranges.count - 1] = last.lowerBound..<start + pageSize
                    } else {
                        ranges.append(start..<start + pageSize)
                    }
                }
                page += UInt(count)
            }
        }
        return ranges
    }

    /// Bits 63 and 62 of an entry of pagemap.
    private static let presentOrSwapped: UInt64 = 0b11 << 62

    /// The writable mappings below 16 GiB. A sanitizer's shadow memory has up to terabytes of addresses in one mapping, and none
    /// of the program's bytes; its smaller mappings have few pages.
    private static func mappings() throws -> [Range<UInt>] {
        // The file is read to its end, because its size is reported as 0, and one read gives a page of it.
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps"))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            let range = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard range.count == 2, words[1].hasPrefix("rw"), range[1] - range[0] < 1 << 34 else { return nil }
            return range[0]..<range[1]
        }
    }
}
