import Foundation

/// Searches of another process's memory, as a debugger makes them.
public enum OtherProcessMemory {
    /// A mapping that /proc reports.
    public struct Mapping: Sendable, CustomStringConvertible {
        public let range: Range<UInt64>
        public let isReadable: Bool
        public let name: String
        /// Two letters each (proc(5), VmFlags): `dd` is left out of core dumps, `lo` is locked in memory.
        public fileprivate(set) var flags: [String] = []

        public var description: String {
            "\(String(range.lowerBound, radix: 16)) \(name) \(flags.joined(separator: " "))"
        }
    }

    /// The mappings of a process that have the bytes somewhere.
    public static func mappings(of process: Int32, with bytes: [UInt8]) throws -> [Mapping] {
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(memory) }
        return try mappings(of: process).filter { mapping in
            guard mapping.isReadable else { return false }
            var (offset, rest) = (mapping.range.lowerBound, [UInt8]())
            while offset < mapping.range.upperBound {
                var part = [UInt8](repeating: 0, count: min(1 << 20, Int(mapping.range.upperBound - offset)))
                let count = pread(memory, &part, part.count, off_t(truncatingIfNeeded: offset))
                guard count > 0 else { return false }
                let read = rest + part.prefix(count)
                if Data(read).range(of: Data(bytes)) != nil { return true }
                rest = Array(read.suffix(bytes.count - 1))
                offset += UInt64(count)
            }
            return false
        }
    }

    private static func mappings(of process: Int32) throws -> [Mapping] {
        var mappings: [Mapping] = []
        // The file's size is reported as 0, so it is read to its end.
        guard let file = FileHandle(forReadingAtPath: "/proc/\(process)/smaps") else { throw POSIXError(.ENOENT) }
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            if ends.count == 2 {
                mappings.append(
                    Mapping(
                        range: ends[0]..<ends[1], isReadable: words[1].hasPrefix("r"),
                        name: words.dropFirst(5).joined(separator: " ")))
            } else if words[0] == "VmFlags:", !mappings.isEmpty {
                mappings[mappings.count - 1].flags = words.dropFirst().map(String.init)
            }
        }
        return mappings
    }
}
