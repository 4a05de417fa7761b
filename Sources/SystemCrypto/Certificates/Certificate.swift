internal import COpenSSL
package import Synchronization

/// An X.509 certificate, RFC 5280.
///
/// Reading a certificate does not check it: an expired or forged certificate reads like any other.
public struct Certificate: Sendable, Hashable {
    /// The certificate as it was given.
    public let der: [UInt8]
    /// The version, 1 to 3 by number.
    public let version: Int
    /// The content octets of the serial number's INTEGER.
    public let serialNumber: [UInt8]
    public let issuer: DistinguishedName
    public let subject: DistinguishedName
    /// Start of the validity, in seconds since 1970.
    public let notBefore: Int64
    /// End of the validity, in seconds since 1970.
    public let notAfter: Int64
    /// The DER of the `SubjectPublicKeyInfo`.
    public let spki: [UInt8]
    /// The public key, nil when its algorithm is unknown or its bytes are no key.
    public let publicKey: PublicKey?
    /// SHA-1 of the public key without its algorithm, by which keychains pair certificates with keys (`pkhh`).
    public let keyHash: [UInt8]
    public let extensions: [CertificateExtension]
    let handle: CertificateHandle

    /// A certificate from its DER.
    ///
    /// - Throws: `malformed` for anything else, or bytes after it.
    public init(der: [UInt8]) throws(CryptoError) {
        handle = try CertificateHandle(der)
        let fields = try CertificateFields(der)
        self.der = der
        version = fields.version
        serialNumber = fields.serialNumber
        issuer = try DistinguishedName(der: fields.issuer)
        subject = try DistinguishedName(der: fields.subject)
        notBefore = fields.notBefore
        notAfter = fields.notAfter
        spki = fields.spki
        extensions = fields.extensions
        publicKey = try? PublicKey(spki: fields.spki)
        keyHash = if let publicKey { publicKey.keyHash } else { try Digest.hash(fields.keyBits, using: .sha1) }
        Certificate.parseObserver.withLock { $0?(der) }
    }

    /// Called with the DER of each certificate that is parsed; for tests that count how often that happens.
    package static let parseObserver = Mutex<(@Sendable ([UInt8]) -> Void)?>(nil)

    /// All certificates of a PEM text, in order.
    ///
    /// - Throws: `malformed` for a block that is not a certificate.
    public static func all(inPEM text: [UInt8]) throws(CryptoError) -> [Certificate] {
        let blocks = try PEM.blocks(labelled: "CERTIFICATE", in: text)
        return try blocks.map { block throws(CryptoError) in try Certificate(der: block) }
    }

    /// The certificates of a file, PEM or DER.
    ///
    /// - Throws: `malformed` for a file without any.
    public static func all(in file: [UInt8]) throws(CryptoError) -> [Certificate] {
        guard PEM.isPEM(file.span) else { return [try Certificate(der: file)] }
        let certificates = try all(inPEM: file)
        guard !certificates.isEmpty else { throw CryptoError(.malformed, "certificate") }
        return certificates
    }

    /// The certificate as PEM.
    public var pem: String { PEM.encode(der, label: "CERTIFICATE") }

    /// Everything in the certificate, for people to read. Wraps `X509_print`.
    public func text() throws(CryptoError) -> String {
        let bio = try unsafe Handle("certificate", release: { unsafe BIO_free_all($0) }) { context in
            unsafe BIO_new_ex(context, BIO_s_mem())
        }
        try unsafe OpenSSL.check("certificate") { _ in
            unsafe X509_print(bio.pointer, handle.pointer)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = unsafe BIO_read(bio.pointer, &buffer, Int32(buffer.count)), count > 0 {
            bytes += buffer.prefix(Int(count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The hash of the whole certificate.
    public func fingerprint(_ algorithm: DigestAlgorithm) throws(CryptoError) -> [UInt8] {
        try Digest.hash(der, using: algorithm)
    }

    /// Whether subject and issuer are equal, as in a root.
    public var isSelfIssued: Bool { subject == issuer }

    /// Whether this certificate has the issuer's name and a signature of its key. Time, purpose and revocation are not checked.
    ///
    /// - Throws: `unsupported` when the issuer's key is of an unknown kind.
    public func verify(issuedBy issuer: Certificate) throws(CryptoError) -> Bool {
        guard let key = issuer.publicKey else { throw CryptoError(.unsupported, "issuer's public key") }
        return try unsafe OpenSSL.call("certificate") { _ in
            unsafe X509_NAME_cmp(
                X509_get_issuer_name(handle.pointer), X509_get_subject_name(issuer.handle.pointer)) == 0
                && X509_verify(handle.pointer, key.handle.pointer) == 1
        }
    }

    public static func == (left: Certificate, right: Certificate) -> Bool {
        left.der == right.der
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(der)
    }
}

/// OpenSSL's form of a certificate, which has its own lock.
@safe
final class CertificateHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Wraps `d2i_X509`.
    init(_ der: [UInt8]) throws(CryptoError) {
        unsafe pointer = try OpenSSL.call("certificate", failing: .malformed) { context in
            // The empty certificate is made first, so that its key is decoded in our context.
            var certificate = unsafe X509_new_ex(context, nil)
            guard unsafe certificate != nil else { return nil }
            let isRead = unsafe der.span.withPointer { start, count in
                var cursor: UnsafePointer<UInt8>? = unsafe start
                return unsafe d2i_X509(&certificate, &cursor, count) != nil && cursor == start + count
            }
            guard isRead else {
                // After a failure of d2i_X509, it is already freed and nil.
                unsafe X509_free(certificate)
                return nil
            }
            return unsafe certificate
        }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// A `STACK_OF(X509)` that shares the certificates.
    static func stack(of certificates: [Certificate]) throws(CryptoError) -> Handle {
        let stack = try unsafe Handle("certificates", release: freeStack) { _ in unsafe OPENSSL_sk_new_null() }
        for certificate in certificates {
            let pointer = unsafe certificate.handle.pointer
            try unsafe OpenSSL.call("certificates") { _ -> Void? in
                guard unsafe X509_up_ref(pointer) == 1 else { return nil }
                guard unsafe OPENSSL_sk_push(stack.pointer, UnsafeRawPointer(pointer)) > 0 else {
                    unsafe X509_free(pointer)
                    return nil
                }
                return ()
            }
        }
        return stack
    }

    private static let freeStack: Handle.Release = { stack in
        unsafe OPENSSL_sk_pop_free(stack) { unsafe X509_free($0.map(OpaquePointer.init)) }
    }
}
