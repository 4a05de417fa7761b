internal import COpenSSL
internal import Synchronization

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

/// A key that several values share. OpenSSL locks what it changes inside a key, so any thread may use it, but to write its
/// private half: see ``writing(_:)``.
@safe
final class KeyHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    private let writer = Mutex(())

    /// Takes over the key that `make` returns; nil from it is a failure.
    init(
        _ operation: String, failing code: CryptoError.Code = .library, _ make: (OpaquePointer) -> OpaquePointer?
    ) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call(operation, failing: code, make)
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Writes the private half, one thread at a time.
    ///
    /// OpenSSL (`ec_pki_priv_to_der`) sets a flag of an EC key while it writes PKCS#8, and puts back what it saw before. Two
    /// threads that do so at once can leave the flag set; whatever is written later then lacks the curve.
    func writing<Written: ~Copyable & Sendable>(
        _ body: () throws(CryptoError) -> Written
    ) throws(CryptoError) -> Written {
        try writer.withLock { _ throws(CryptoError) in try body() }
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
