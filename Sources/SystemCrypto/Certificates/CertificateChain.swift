internal import COpenSSL

/// Checks whether a certificate leads to a trusted one, RFC 5280 §6. Purposes are not checked.
public enum CertificateChain {
    /// The result of a search for a chain. A chain that is not trusted is an answer, not an error.
    public enum Outcome: Sendable, Hashable {
        /// The chain, from the certificate to the root.
        case trusted([Certificate])
        /// The reason, and its place in the chain, counted from the certificate at 0.
        case untrusted(reason: String, depth: Int)
    }

    /// The revocation lists of a check.
    public struct Revocation: Sendable {
        let lists: [CertificateRevocationList]
        let isRequired: Bool

        /// - Parameter isRequired: whether each issuer of the chain must have a list.
        public init(lists: [CertificateRevocationList], isRequired: Bool) {
            self.lists = lists
            self.isRequired = isRequired
        }
    }

    /// Builds a chain and checks it. Wraps `X509_verify_cert`.
    ///
    /// - Parameters:
    ///   - intermediates: further certificates for the chain, which are not trusted.
    ///   - roots: trusted certificates.
    ///   - time: the time at which the chain must be valid, in seconds since 1970.
    ///   - revocation: the lists that must not have the certificates; nil for no check.
    ///   - endsAtAnyRoot: whether a chain may end at a root that is not self-signed.
    ///   - securityLevel: the required strength of keys and signatures, by SSL_CTX_set_security_level(3); nil for OpenSSL's
    ///     default.
    public static func verify(
        _ certificate: Certificate, intermediates: [Certificate], roots: [Certificate], at time: Int64,
        revocation: Revocation? = nil, endsAtAnyRoot: Bool = false, securityLevel: Int32? = nil
    ) throws(CryptoError) -> Outcome {
        let store = try unsafe Handle("chain", release: X509_STORE_free) { _ in unsafe X509_STORE_new()
        }
        for root in roots {
            try unsafe OpenSSL.check("chain") { _ in
                unsafe X509_STORE_add_cert(store.pointer, root.handle.pointer)
            }
        }
        for list in revocation?.lists ?? [] {
            try unsafe OpenSSL.check("chain") { _ in
                unsafe X509_STORE_add_crl(store.pointer, list.handle.pointer)
            }
        }
        let helpers = try CertificateHandle.stack(of: intermediates)
        // The context below has pointers to both, but does not own them.
        defer {
            extendLifetime(store)
            extendLifetime(helpers)
        }
        let verification = try unsafe Handle("chain", release: X509_STORE_CTX_free) { context in
            unsafe X509_STORE_CTX_new_ex(context, nil)
        }
        try unsafe OpenSSL.check("chain") { _ in
            unsafe X509_STORE_CTX_init(
                verification.pointer, store.pointer, certificate.handle.pointer, helpers.pointer)
        }
        unsafe X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(verification.pointer), time_t(time))
        if let revocation { require(revocation, of: verification) }
        let parameters = unsafe X509_STORE_CTX_get0_param(verification.pointer)
        if endsAtAnyRoot { unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN)) }
        if let securityLevel { unsafe X509_VERIFY_PARAM_set_auth_level(parameters, securityLevel) }
        let isTrusted = try unsafe OpenSSL.call("chain") { _ -> Bool? in
            let status = unsafe X509_verify_cert(verification.pointer)
            return status < 0 ? nil : status == 1
        }
        return isTrusted ? .trusted(try chain(of: verification)) : refusal(of: verification)
    }

    /// Makes the verification look for every certificate of the chain in its issuer's list.
    private static func require(_ revocation: Revocation, of verification: borrowing Handle) {
        let flags = UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL)
        unsafe X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(verification.pointer), flags)
        guard !revocation.isRequired else { return }
        unsafe X509_STORE_CTX_set_verify_cb(verification.pointer) { isFine, context in
            guard isFine == 0, unsafe X509_STORE_CTX_get_error(context) == X509_V_ERR_UNABLE_TO_GET_CRL
            else {
                return isFine
            }
            unsafe X509_STORE_CTX_set_error(context, X509_V_OK)
            return 1
        }
    }

    private static func chain(of verification: borrowing Handle) throws(CryptoError) -> [Certificate] {
        let chain = unsafe X509_STORE_CTX_get0_chain(verification.pointer)
        let count = unsafe OPENSSL_sk_num(chain)
        var certificates: [Certificate] = []
        for index in 0..<max(count, 0) {
            let pointer = unsafe OPENSSL_sk_value(chain, index).map(OpaquePointer.init)
            let der = try unsafe [UInt8](encoding: "chain") { unsafe i2d_X509(pointer, $0) }
            certificates.append(try Certificate(der: der))
        }
        return certificates
    }

    private static func refusal(of verification: borrowing Handle) -> Outcome {
        let code = unsafe X509_STORE_CTX_get_error(verification.pointer)
        let depth = unsafe X509_STORE_CTX_get_error_depth(verification.pointer)
        let reason = unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) }
        return .untrusted(reason: reason ?? "error \(code)", depth: Int(depth))
    }
}
