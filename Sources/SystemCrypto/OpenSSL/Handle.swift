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

    deinit {
        unsafe release(pointer)
    }
}

/// A key that several values share. OpenSSL locks what it changes inside a key, so any thread may use it.
@safe
final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the key that `make` returns; nil from it is a failure.
    init(
        _ operation: String, failing code: CryptoError.Code = .library, _ make: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call(operation, failing: code, make)
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

    /// The algorithm's name in OpenSSL.
    var algorithmName: String {
        unsafe EVP_PKEY_get0_type_name(pointer).map { unsafe String(cString: $0) } ?? "unknown"
    }
}
