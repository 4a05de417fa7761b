internal import COpenSSL
internal import SecureBytes

/// The named values of an `OSSL_PARAM` array, which are wiped when the list ends, since some are keys.
@safe
struct ParameterList: ~Copyable {
    private var parameters: [OSSL_PARAM] = unsafe []
    private var storage: [UnsafeMutableRawBufferPointer] = unsafe []

    deinit {
        unsafe storage.forEach(ParameterList.wipe)
    }

    mutating func add(_ name: String, text: String) {
        let bytes = Array(text.utf8)
        add(name, OSSL_PARAM_UTF8_STRING, count: bytes.count) { bytes[$0] }
    }

    mutating func add(_ name: String, octets: Span<UInt8>) {
        add(name, OSSL_PARAM_OCTET_STRING, count: octets.count) { octets[$0] }
    }

    mutating func add(_ name: String, number: UInt64) {
        add(name, integer: number.bigEndianBytes.span)
    }

    /// An unsigned integer of any size, most significant byte first.
    mutating func add(_ name: String, integer: Span<UInt8>) {
        let isLittleEndian = 1.littleEndian == 1
        add(name, OSSL_PARAM_UNSIGNED_INTEGER, count: integer.count) { index in
            integer[isLittleEndian ? integer.count - 1 - index : index]
        }
    }

    /// Runs `body` with the array, which ends with C's empty entry.
    borrowing func withPointer<Result: ~Copyable, E: Error>(
        _ body: (UnsafePointer<OSSL_PARAM>?) throws(E) -> Result
    ) throws(E) -> Result {
        let closed = unsafe parameters + [OSSL_PARAM()]
        return try unsafe closed.span.withUnsafeBufferPointer { buffer throws(E) in
            try unsafe body(buffer.baseAddress)
        }
    }

    private mutating func add(_ name: String, _ type: Int32, count: Int, byteAt: (Int) -> UInt8) {
        let key = unsafe allocate(name.utf8.count + 1)
        for (index, byte) in name.utf8.enumerated() { unsafe key[index] = byte }
        let data = unsafe allocate(count + 1)
        for index in 0..<count { unsafe data[index] = byteAt(index) }
        unsafe parameters.append(
            OSSL_PARAM(
                key: key.baseAddress?.assumingMemoryBound(to: CChar.self), data_type: UInt32(type),
                data: data.baseAddress, data_size: count, return_size: ParameterList.unmodified))
    }

    /// `OSSL_PARAM_UNMODIFIED`, a macro that Swift does not see.
    static let unmodified = -1

    private static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        unsafe buffer.deallocate()
    }

    private mutating func allocate(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
        unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe storage.append(buffer)
        return unsafe buffer
    }
}
