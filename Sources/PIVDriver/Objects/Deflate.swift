internal import CZlib
internal import TokenKit

/// Packs certificates that do not fit into the card, as gzip (RFC 1952).
enum Deflate {
    static func pack(_ bytes: [UInt8]) throws(TokenError) -> [UInt8] {
        var bytes = bytes
        let packed = unsafe bytes.withUnsafeMutableBufferPointer { input in unsafe deflate(input) }
        guard let packed else { throw TokenError(.storage, "the certificate cannot be compressed") }
        return packed
    }

    private static func deflate(_ input: UnsafeMutableBufferPointer<UInt8>) -> [UInt8]? {
        guard let count = UInt32(exactly: input.count) else { return nil }
        var stream = unsafe z_stream()
        guard unsafe czlib_deflate_init(&stream, gzip) == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        unsafe stream.next_in = input.baseAddress
        unsafe stream.avail_in = count
        let limit = unsafe Int(deflateBound(&stream, UInt(count)))
        var code = Z_OK
        let packed = unsafe [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            unsafe stream.next_out = output.baseAddress
            unsafe stream.avail_out = UInt32(truncatingIfNeeded: output.count)
            code = unsafe CZlib.deflate(&stream, Z_FINISH)
            count = unsafe output.count - Int(stream.avail_out)
        }
        return code == Z_STREAM_END ? packed : nil
    }

    /// The largest window, in the form of gzip (zlib's manual, deflateInit2).
    private static let gzip: Int32 = 15 + 16
}
