internal import SecureBytes

/// Writes gzip data without compression, which every reader accepts.
enum Gzip {
    private static let header: [UInt8] = [0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xFF]

    /// Bytes of the longest stored block. RFC 1951 §3.2.4.
    private static let blockLimit = 65_535

    /// The bytes in stored blocks, RFC 1952 §2.3.
    static func wrap(_ bytes: [UInt8]) -> [UInt8] {
        var output = header
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(blockLimit)
            rest = rest.dropFirst(blockLimit)
            let length = UInt16(truncatingIfNeeded: block.count).littleEndianBytes
            output += [rest.isEmpty ? 1 : 0] + length + length.map { ~$0 } + block
        } while !rest.isEmpty
        return output + checksum(bytes).littleEndianBytes + UInt32(truncatingIfNeeded: bytes.count).littleEndianBytes
    }

    /// CRC-32, RFC 1952 §8.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~UInt32(0)) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}
