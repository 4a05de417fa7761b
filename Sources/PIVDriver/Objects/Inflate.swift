internal import CZlib
package import TokenKit

/// Unpacks gzip (RFC 1952), and zlib (RFC 1950), which some writers of cards use instead.
package enum Inflate {
    /// - Parameter limit: the most bytes of the result, since a few bytes may unpack to any length.
    package static func unpack(_ packed: [UInt8], limit: Int) throws(TokenError) -> [UInt8] {
        guard packed.count <= UInt32.max, limit < UInt32.max else { throw failure("too long") }
        var packed = packed
        let (code, unpacked) = unsafe packed.withUnsafeMutableBufferPointer { input in
            unsafe inflate(input, limit: limit)
        }
        guard code != Z_BUF_ERROR, unpacked.count <= limit else {
            throw failure("it ends early, or unpacks to more than \(limit) bytes")
        }
        guard code == Z_STREAM_END else { throw failure("zlib error \(code)") }
        return unpacked
    }

    private static func inflate(
        _ input: UnsafeMutableBufferPointer<UInt8>, limit: Int
    ) -> (code: Int32, unpacked: [UInt8]) {
        var stream = unsafe z_stream()
        guard unsafe czlib_inflate_init(&stream, automaticHeader) == Z_OK else { return (Z_MEM_ERROR, []) }
        defer { unsafe inflateEnd(&stream) }
        unsafe stream.next_in = input.baseAddress
        unsafe stream.avail_in = UInt32(truncatingIfNeeded: input.count)
        var code = Z_OK
        // One byte beyond the limit shows that the result is too long.
        let unpacked = unsafe [UInt8](unsafeUninitializedCapacity: limit + 1) { output, count in
            unsafe stream.next_out = output.baseAddress
            unsafe stream.avail_out = UInt32(truncatingIfNeeded: output.count)
            code = unsafe CZlib.inflate(&stream, Z_FINISH)
            count = unsafe output.count - Int(stream.avail_out)
        }
        return (code, unpacked)
    }

    /// The largest window, with detection of the format by its header (zlib's manual, inflateInit2).
    private static let automaticHeader: Int32 = 15 + 32

    private static func failure(_ why: LocalizedText) -> TokenError {
        PIVFormat.malformed("compressed certificate", why)
    }
}
