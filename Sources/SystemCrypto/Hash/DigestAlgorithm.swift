/// A hash function, by its name in FIPS 180-4.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
    case sha1, sha224, sha256, sha384, sha512

    /// The digest's length in bytes.
    public var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}
