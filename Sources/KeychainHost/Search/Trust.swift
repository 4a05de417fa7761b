internal import KeychainModel
internal import Glibc
internal import Localization
internal import Platform
public import SystemCrypto

/// The roots that a chain of certificates has to lead to. Keychain semantics 1.5, `m_TrustedOnly`.
public enum TrustAnchors: Sendable, Hashable {
    /// The system's roots: the file that `SSL_CERT_FILE` names, else `/etc/ssl/certs/ca-certificates.crt`.
    case system
    /// The certificates of a file.
    case file(String)
    /// These certificates alone.
    case certificates([Certificate])

    /// - Throws: `errSecTrustNotAvailable` where the system's roots cannot be read.
    func roots() throws(KeychainError) -> [Certificate] {
        let path: String
        switch self {
        case .certificates(let roots): return roots
        case .file(let file): path = file
        case .system: path = Environment.variable("SSL_CERT_FILE") ?? "/etc/ssl/certs/ca-certificates.crt"
        }
        guard let bytes = Self.content(of: path), let roots = try? Certificate.all(in: bytes) else {
            throw KeychainError(
                .trustNotAvailable, "the trusted roots cannot be read from \(path)",
                remedy: "install ca-certificates, or name a file in SSL_CERT_FILE", key: Filter.trusted.key)
        }
        return roots
    }

    /// The most that is read of a file, in bytes.
    private static let maximumLength = 16 << 20

    private static func content(of path: String) -> [UInt8]? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var (bytes, part): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 1 << 16))
        while bytes.count <= maximumLength {
            let count = unsafe fread(&part, 1, part.count, file)
            guard count > 0 else { return unsafe ferror(file) == 0 ? bytes : nil }
            bytes += part.prefix(count)
        }
        return nil
    }
}
