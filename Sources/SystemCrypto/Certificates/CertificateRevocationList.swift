internal import COpenSSL

/// A list of certificates that their issuer has revoked, RFC 5280 §5.
///
/// Reading a list does not check it: ``CertificateChain`` checks its signature and its validity.
public struct CertificateRevocationList: Sendable {
    let handle: RevocationListHandle

    /// A list from its DER.
    ///
    /// - Throws: `malformed` for anything else, or bytes after it.
    public init(der: [UInt8]) throws(CryptoError) {
        handle = try RevocationListHandle(der)
    }

    /// The lists of a file, PEM or DER.
    ///
    /// - Throws: `malformed` for a file without any.
    public static func all(in file: [UInt8]) throws(CryptoError) -> [CertificateRevocationList] {
        guard PEM.isPEM(file.span) else { return [try CertificateRevocationList(der: file)] }
        let blocks = try PEM.blocks(labelled: "X509 CRL", in: file)
        guard !blocks.isEmpty else { throw CryptoError(.malformed, "revocation list") }
        return try blocks.map { block throws(CryptoError) in try CertificateRevocationList(der: block) }
    }
}

/// OpenSSL's form of a revocation list, which has its own lock.
@safe
final class RevocationListHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Wraps `d2i_X509_CRL`.
    init(_ der: [UInt8]) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call("revocation list", failing: .malformed) { context in
            // The empty list is made first, so that its algorithms are fetched in our context.
            var list = unsafe X509_CRL_new_ex(context, nil)
            guard unsafe list != nil else { return nil }
            let isRead = unsafe der.span.withPointer { start, count in
                var cursor: UnsafePointer<UInt8>? = unsafe start
                return unsafe d2i_X509_CRL(&list, &cursor, count) != nil && cursor == start + count
            }
            guard isRead else {
                // After a failure of d2i_X509_CRL, it is already freed and nil.
                unsafe X509_CRL_free(list)
                return nil
            }
            return unsafe list
        }
    }

    deinit {
        unsafe X509_CRL_free(pointer)
    }
}
