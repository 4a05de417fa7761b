internal import COpenSSL
internal import SecureBytes

extension Span where Element == UInt8 {
    /// Lends the bytes to C. The address is never nil, not even for no bytes, since some of OpenSSL's functions only return a
    /// length for nil.
    func withPointer<Result: ~Copyable, E: Error>(
        _ body: (UnsafePointer<UInt8>, Int) throws(E) -> Result
    ) throws(E) -> Result {
        guard isEmpty else {
            return try unsafe withUnsafeBufferPointer { buffer throws(E) in
                guard let start = buffer.baseAddress else { return try unsafe body(emptyAddress, 0) }
                return try unsafe body(start, buffer.count)
            }
        }
        return try unsafe body(emptyAddress, 0)
    }
}

// One byte that is never written.
nonisolated(unsafe) private let emptyAddress: UnsafePointer<UInt8> = {
    let address = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
    unsafe address.initialize(to: 0)
    return unsafe UnsafePointer(address)
}()

extension Array where Element == UInt8 {
    /// Bytes that C writes. `body` gets room for `capacity` bytes, and sets the number that it used.
    init(
        capacity: Int, _ operation: String, failing code: CryptoError.Code = .library,
        _ body: (OpaquePointer, UnsafeMutablePointer<UInt8>, inout Int) -> Bool
    ) throws(CryptoError) {
        var bytes = [UInt8](repeating: 0, count: Swift.max(capacity, 1))
        var count = capacity
        try unsafe bytes.withUnsafeMutableBufferPointer { buffer throws(CryptoError) in
            try unsafe OpenSSL.call(operation, failing: code) { context -> Void? in
                guard let start = buffer.baseAddress else { return nil }
                return unsafe body(context, start, &count) && 0...capacity ~= count ? () : nil
            }
        }
        self = Array(bytes.prefix(count))
    }

    /// The DER that an `i2d_` function writes.
    init(encoding operation: String, _ body: Encoder) throws(CryptoError) {
        try unsafe self.init(capacity: encodedLength(operation, body), operation) { _, start, count in
            unsafe writeEncoding(body, to: start, count)
        }
    }
}

extension Secret {
    /// A secret that C writes. `body` gets room for `capacity` bytes, and sets the number that it used.
    init(
        capacity: Int, _ operation: String, failing code: CryptoError.Code = .library,
        _ body: (OpaquePointer, UnsafeMutablePointer<UInt8>, inout Int) -> Bool
    ) throws(CryptoError) {
        // One byte more than asked for, so that there is an address even for an empty secret.
        try self.init(capacity: capacity + 1) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                initialized = try unsafe OpenSSL.call(operation, failing: code) { context in
                    guard let start = buffer.baseAddress else { return nil }
                    var count = capacity
                    return unsafe body(context, start, &count) && 0...capacity ~= count ? count : nil
                }
            }
        }
    }

    /// The DER of a secret that an `i2d_` function writes.
    init(encoding operation: String, _ body: Encoder) throws(CryptoError) {
        try unsafe self.init(capacity: encodedLength(operation, body), operation) { _, start, count in
            unsafe writeEncoding(body, to: start, count)
        }
    }
}

/// An `i2d_` function. It writes to the address and advances it, or writes nothing for nil, and returns the length of the DER.
typealias Encoder = (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32

private func encodedLength(_ operation: String, _ body: Encoder) throws(CryptoError) -> Int {
    try unsafe OpenSSL.call(operation) { _ in
        let length = body(nil)
        return length > 0 ? Int(length) : nil
    }
}

private func writeEncoding(_ body: Encoder, to start: UnsafeMutablePointer<UInt8>, _ count: Int) -> Bool {
    var cursor: UnsafeMutablePointer<UInt8>? = unsafe start
    return unsafe body(&cursor) == count
}
