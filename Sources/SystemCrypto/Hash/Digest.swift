internal import COpenSSL
internal import SecureBytes

/// Message digests in one call.
public enum Digest {
    /// The digest of `bytes`.
    public static func hash(_ bytes: Span<UInt8>, using algorithm: DigestAlgorithm) throws(CryptoError) -> [UInt8] {
        var context = try DigestContext(algorithm)
        try context.update(bytes)
        return try context.finalize()
    }

    /// The digest of `bytes`.
    public static func hash(_ bytes: [UInt8], using algorithm: DigestAlgorithm) throws(CryptoError) -> [UInt8] {
        try hash(bytes.span, using: algorithm)
    }
}

/// A digest of a message in parts. Wraps `EVP_DigestUpdate`.
public struct DigestContext: ~Copyable {
    /// The hash function.
    public let algorithm: DigestAlgorithm
    private let handle: Handle

    public init(_ algorithm: DigestAlgorithm) throws(CryptoError) {
        let handle = try unsafe Handle("digest", release: EVP_MD_CTX_free) { _ in unsafe EVP_MD_CTX_new() }
        let implementation = try unsafe algorithm.implementation
        try unsafe OpenSSL.check("digest") { _ in unsafe EVP_DigestInit_ex2(handle.pointer, implementation, nil) }
        self.algorithm = algorithm
        self.handle = handle
    }

    /// Adds bytes to the hashed message.
    public mutating func update(_ bytes: Span<UInt8>) throws(CryptoError) {
        try unsafe bytes.withPointer { start, count throws(CryptoError) in
            try unsafe OpenSSL.check("digest") { _ in unsafe EVP_DigestUpdate(handle.pointer, start, count) }
        }
    }

    /// Adds bytes to the hashed message.
    public mutating func update(_ bytes: [UInt8]) throws(CryptoError) {
        try update(bytes.span)
    }

    /// The digest of all bytes added.
    public consuming func finalize() throws(CryptoError) -> [UInt8] {
        try unsafe [UInt8](capacity: algorithm.byteCount, "digest") { _, start, _ in
            unsafe EVP_DigestFinal_ex(handle.pointer, start, nil) == 1
        }
    }

    /// The digest of a secret, which is a secret itself.
    consuming func finalizeSecret() throws(CryptoError) -> Secret {
        try unsafe Secret(capacity: algorithm.byteCount, "digest") { _, start, _ in
            unsafe EVP_DigestFinal_ex(handle.pointer, start, nil) == 1
        }
    }
}

extension DigestAlgorithm {
    /// The name by which OpenSSL fetches the hash function.
    var openSSLName: String {
        switch self {
        case .sha1: "SHA1"
        case .sha224: "SHA224"
        case .sha256: "SHA256"
        case .sha384: "SHA384"
        case .sha512: "SHA512"
        }
    }

    /// The fetched `EVP_MD`, kept for the life of the process.
    var implementation: OpaquePointer {
        get throws(CryptoError) {
            guard let fetched = unsafe Self.implementations[self] else { throw CryptoError(.unsupported, openSSLName) }
            return unsafe fetched
        }
    }

    // A fetch takes longer than hashing a certificate.
    nonisolated(unsafe) private static let implementations: [DigestAlgorithm: OpaquePointer] = {
        var fetched: [DigestAlgorithm: OpaquePointer] = unsafe [:]
        for algorithm in DigestAlgorithm.allCases {
            unsafe fetched[algorithm] = try? OpenSSL.call(algorithm.openSSLName) { context in
                unsafe EVP_MD_fetch(context, algorithm.openSSLName, nil)
            }
        }
        return unsafe fetched
    }()
}
