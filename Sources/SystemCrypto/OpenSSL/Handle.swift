internal import COpenSSL

/// An OpenSSL object that is freed when the handle ends.
@safe
struct Handle: ~Copyable {
    typealias Release = @convention(c) (OpaquePointer?) -> Void

    let pointer: OpaquePointer
    private let release: Release

    /// Takes over the object that `make` returns; nil from it is a failure.
    init(
        _ operation: String, failing code: CryptoError.Code = .library, release: Release,
        _ make: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call(operation, failing: code, make)
        unsafe self.release = release
    }

    /// Takes over the object that a `d2i_` function reads from the bytes.
    init(
        _ operation: String, parsing der: Span<UInt8>, release: Release,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) throws(CryptoError) {
        try unsafe self.init(operation, failing: .malformed, release: release) { _ in
            unsafe OpenSSL.parse(der, release: release, read)
        }
    }

    /// A context that makes keys of an algorithm.
    init(making operation: String, of algorithm: String) throws(CryptoError) {
        try unsafe self.init(operation, failing: .unsupported, release: EVP_PKEY_CTX_free) { context in
            // copenssl_identifier returns its argument for a name without an identifier: the pointer must serve both calls.
            unsafe algorithm.withCString { unsafe EVP_PKEY_CTX_new_from_name(context, copenssl_identifier($0), nil) }
        }
    }

    deinit {
        unsafe release(pointer)
    }
}

/// A key that several values share. OpenSSL locks a key's mutable parts, so that any thread may use it.
@safe
final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the key that `make` returns; nil from it is a failure.
    init(
        _ operation: String, failing code: CryptoError.Code = .library, _ make: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call(operation, failing: code, make)
    }

    /// Takes over the object that a `d2i_` function reads from the bytes.
    convenience init(
        _ operation: String, parsing der: Span<UInt8>,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int, OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        try unsafe self.init(operation, failing: .malformed) { context in
            unsafe OpenSSL.parse(der, release: EVP_PKEY_free) { unsafe read($0, $1, context) }
        }
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// A context for one operation with this key.
    func makeContext(_ operation: String) throws(CryptoError) -> Handle {
        try unsafe Handle(operation, release: EVP_PKEY_CTX_free) { context in
            unsafe EVP_PKEY_CTX_new_from_pkey(context, pointer, nil)
        }
    }

    /// A context for one operation with this key, initialised by an `_init_ex` function.
    func makeContext(
        _ operation: String, _ parameters: borrowing ParameterList,
        _ begin: (OpaquePointer, UnsafePointer<OSSL_PARAM>?) -> Int32
    ) throws(CryptoError) -> Handle {
        let context = try makeContext(operation)
        try unsafe parameters.withPointer { list throws(CryptoError) in
            try unsafe OpenSSL.check(operation, failing: .unsupported) { _ in unsafe begin(context.pointer, list) }
        }
        return context
    }

    /// The algorithm's name in OpenSSL.
    var algorithmName: String {
        unsafe EVP_PKEY_get0_type_name(pointer).map { unsafe String(cString: copenssl_name($0)) } ?? "unknown"
    }
}

extension OpenSSL {
    /// The object that a `d2i_` function reads; nil, with the object freed, where bytes are left over.
    fileprivate static func parse(
        _ der: Span<UInt8>, release: Handle.Release,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        unsafe der.withPointer { start, count in
            var cursor: UnsafePointer<UInt8>? = unsafe start
            let object = unsafe read(&cursor, count)
            guard unsafe cursor == start + count else {
                unsafe release(object)
                return nil
            }
            return unsafe object
        }
    }
}
