internal import CSecKeychain
internal import CThinClient

/// Memory with a password or an attribute that C code holds and returns. The length is stored before it, so that it can be overwritten
/// when it is freed.
@safe
struct CallerMemory {
    let start: UnsafeMutableRawPointer
    let count: Int

    /// The length of the header in bytes, which keeps the memory after it aligned for any type.
    private static let headerLength = 16

    /// Zeroed memory with one more byte than asked for, so that text ends with a zero in C.
    ///
    /// - Throws: `errSecAllocate`.
    init(_ count: Int) throws(Failure) {
        guard let block = unsafe calloc(1, CallerMemory.headerLength + count + 1) else { throw Failure(errSecAllocate) }
        unsafe block.storeBytes(of: count, as: Int.self)
        unsafe start = block + CallerMemory.headerLength
        self.count = count
    }

    /// A copy of bytes.
    init(_ bytes: [UInt8]) throws(Failure) {
        try self.init(bytes.count)
        unsafe bytes.withUnsafeBytes { bytes in
            if let source = bytes.baseAddress { unsafe start.copyMemory(from: source, byteCount: bytes.count) }
        }
    }

    /// Memory that an earlier call gave to C code.
    init(returned start: UnsafeMutableRawPointer) {
        unsafe self.start = start
        count = unsafe (start - CallerMemory.headerLength).load(as: Int.self)
    }

    /// Overwrites and frees the memory.
    func free() {
        unsafe tokenkit_wipe(start, count)
        unsafe CThinClient.free(start - CallerMemory.headerLength)
    }
}
