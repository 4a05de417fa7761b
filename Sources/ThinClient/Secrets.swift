internal import CThinClient

/// The secrets that a call sends: pieces of the program's own memory, in the order of the arguments.
@safe
struct Secrets: ~Copyable {
    private var pieces: [(start: UnsafeRawPointer, count: Int)] = unsafe []
    private(set) var count = 0

    init() {}

    /// - Throws: ``argumentsBad`` for a null pointer with a length.
    init(_ start: UnsafeMutablePointer<UInt8>?, _ count: UInt) throws(Failure) {
        try unsafe append(start, count)
    }

    mutating func append(_ start: UnsafeMutablePointer<UInt8>?, _ count: UInt) throws(Failure) {
        guard count > 0 else { return }
        guard let start = unsafe start, count <= UInt(FrameHeader.maximumSecrets) else { throw argumentsBad }
        unsafe pieces.append((UnsafeRawPointer(start), Int(count)))
        self.count += Int(count)
    }

    borrowing func parts(behind header: UnsafeRawBufferPointer, _ fields: UnsafeRawBufferPointer) -> [iovec] {
        var parts = unsafe [part(header.baseAddress, header.count), part(fields.baseAddress, fields.count)]
        for index in unsafe pieces.indices { unsafe parts.append(part(pieces[index].start, pieces[index].count)) }
        return unsafe parts
    }

    private func part(_ start: UnsafeRawPointer?, _ count: Int) -> iovec {
        unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: start), iov_len: count)
    }
}
