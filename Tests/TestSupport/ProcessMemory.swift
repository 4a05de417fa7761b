import Foundation
import SecureBytes
import Synchronization

/// What this process has in its memory.
public enum ProcessMemory {
    /// Of two searches at a time each would find what the other one has read.
    private static let oneAtATime = Mutex<Void>(())

    /// How often the bytes stand there, beside where they are given.
    public static func occurrences(of secret: borrowing Secret) throws -> Int {
        try oneAtATime.withLock { _ in try count(secret) }
    }

    private static func count(_ secret: borrowing Secret) throws -> Int {
        let size = 1 << 20
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        defer {
            room.initializeMemory(as: UInt8.self, repeating: 0)
            room.deallocate()
        }
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        defer { close(memory) }
        return try secret.bytes.withUnsafeBytes { needle in
            let own = [UnsafeRawBufferPointer(room), needle].map { buffer in
                let start = UInt(bitPattern: buffer.baseAddress)
                return start..<start + UInt(buffer.count)
            }
            // While other threads map memory, the list of it may have a place twice.
            var places: Set<UInt> = []
            for mapping in try mappings() {
                var position = mapping.lowerBound
                while position < mapping.upperBound {
                    let wanted = min(size, Int(mapping.upperBound - position))
                    let read = pread(memory, room.baseAddress, wanted, Int(bitPattern: position))
                    guard read >= needle.count else { break }
                    for offset in offsets(of: needle, in: UnsafeRawBufferPointer(rebasing: room[..<read])) {
                        let address = position + UInt(offset)
                        if !own.contains(where: { $0.contains(address) }) { places.insert(address) }
                    }
                    // What lies across the end is found from the next position on.
                    position += UInt(read == wanted && wanted == size ? read - needle.count + 1 : read)
                }
            }
            return places.count
        }
    }

    private static func offsets(of needle: UnsafeRawBufferPointer, in room: UnsafeRawBufferPointer) -> [Int] {
        guard let base = room.baseAddress, let first = needle.first, room.count >= needle.count else { return [] }
        var (offsets, start) = ([Int](), 0)
        while start <= room.count - needle.count,
            let found = memchr(base + start, Int32(first), room.count - needle.count - start + 1)
        {
            let offset = UnsafeRawPointer(found) - base
            // Byte by byte: memcmp has it in wide registers, which the dynamic linker may save on the stack.
            if needle.indices.allSatisfy({ room[offset + $0] == needle[$0] }) { offsets.append(offset) }
            start = offset + 1
        }
        return offsets
    }

    /// Those that can be written. A sanitizer's notes on which memory is valid have terabytes of addresses, and no program's bytes.
    private static func mappings() throws -> [Range<UInt>] {
        // In parts: the file says that it is empty, and one read gives a page of it.
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps"))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            let range = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard range.count == 2, words[1].hasPrefix("rw"), range[1] - range[0] < 1 << 40 else { return nil }
            return range[0]..<range[1]
        }
    }
}
