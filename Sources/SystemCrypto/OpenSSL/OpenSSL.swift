internal import COpenSSL

/// This package's own library context in libcrypto.
///
/// Every algorithm is fetched from an `OSSL_LIB_CTX` of our own, never from the default one: we are loaded into processes that
/// use OpenSSL themselves, possibly by OpenSSL, and its configuration file may name our own PKCS#11 module. Keys are not given to
/// an engine that the process has made its default either: see `copenssl_make_context`.
enum OpenSSL {
    /// Runs calls of OpenSSL and returns their result; nil from `body` is a failure.
    ///
    /// The whole process shares the thread's error queue: earlier errors stay, and errors that `body` adds are removed.
    static func call<Result>(
        _ operation: String, failing code: CryptoError.Code = .library, _ body: (OpaquePointer) -> Result?
    ) throws(CryptoError) -> Result {
        guard let context = unsafe context else {
            throw CryptoError(.library, operation, reason: "libcrypto cannot be initialised")
        }
        let before = ERR_peek_last_error()
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        if let result = unsafe body(context) { return result }
        let last = ERR_peek_last_error()
        throw CryptoError(code, operation, reason: last == before ? nil : reason(of: last))
    }

    /// Runs a call that reports success with 1.
    static func check(
        _ operation: String, failing code: CryptoError.Code = .library, _ body: (OpaquePointer) -> Int32
    ) throws(CryptoError) {
        try unsafe call(operation, failing: code) { context in unsafe body(context) == 1 ? () : nil }
    }

    /// Whether the algorithms of the legacy provider (RC2 and RC4 in old PKCS#12 files) could be made available.
    ///
    /// The provider is loaded on first use and kept. False on a system without `legacy.so`.
    static let hasLegacyAlgorithms: Bool = {
        guard let context = unsafe context else { return false }
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return unsafe OSSL_PROVIDER_load(context, "legacy") != nil
    }()

    // Never freed: a module cannot know when the last thread of its host stops using it.
    nonisolated(unsafe) private static let context: OpaquePointer? = {
        // Loads only the error texts. A choice about configuration would apply to the whole process.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
        return unsafe copenssl_make_context()
    }()

    private static func reason(of error: UInt) -> String? {
        guard let text = unsafe ERR_reason_error_string(error) else { return nil }
        return unsafe String(cString: text)
    }
}
