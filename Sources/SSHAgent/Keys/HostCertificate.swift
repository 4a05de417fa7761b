internal import Glibc
internal import SecureBytes

/// A certificate of a machine's key: OpenSSH's PROTOCOL.certkeys.
struct HostCertificate: Equatable {
    /// The key of the authority that has signed it.
    let authority: [UInt8]
    /// The names of the machine, which may be patterns; empty for any machine.
    let principals: [[UInt8]]
    private let isOfHost: Bool
    private let hasCriticalOptions: Bool
    /// In seconds since 1970.
    private let begin: UInt64
    private let end: UInt64

    /// OpenSSH's limit.
    private static let maximumPrincipals = 256
    private static let hostType: UInt32 = 2

    private static var now: UInt64 { UInt64(clamping: time(nil)) }

    /// - Returns: nil for a key without a certificate, for one of another form, and where the authority's signature is wrong.
    init?(_ blob: [UInt8]) {
        do throws(MalformedMessage) { try self.init(parsing: blob) } catch { return nil }
    }

    private init(parsing blob: [UInt8]) throws(MalformedMessage) {
        var rest = blob.span
        guard let format = SSHKeyFormat(kind: try rest.readBytes()), format.hasCertificate else {
            throw MalformedMessage()
        }
        // A nonce precedes the public half.
        for _ in 0...format.publicFieldCount { _ = try rest.readString() }
        _ = try rest.readLongNumber()
        isOfHost = try rest.readNumber() == HostCertificate.hostType
        _ = try rest.readString()
        principals = try HostCertificate.strings(rest.readString())
        (begin, end) = (try rest.readLongNumber(), try rest.readLongNumber())
        hasCriticalOptions = try !rest.readString().isEmpty
        // Extensions only permit a user something, and a reserved field follows.
        for _ in 0..<2 { _ = try rest.readString() }
        authority = try rest.readBytes()
        let signedCount = blob.count - rest.count
        let signature = try rest.readBytes()
        try rest.finish()
        guard let key = SSHPublicKey(authority), !key.hasCertificate,
            key.verify(signature, of: Array(blob.prefix(signedCount)))
        else { throw MalformedMessage() }
    }

    private static func strings(_ bytes: Span<UInt8>) throws(MalformedMessage) -> [[UInt8]] {
        var (rest, strings) = (bytes, [[UInt8]]())
        while !rest.isEmpty {
            guard strings.count < maximumPrincipals else { throw MalformedMessage() }
            strings.append(try rest.readBytes())
        }
        return strings
    }

    /// Whether the certificate is one of a machine, and of this time. No critical option is defined for machines, so that each is unknown.
    ///
    /// - Parameter time: in seconds since 1970; nil for the present.
    func isValid(at time: UInt64? = nil) -> Bool {
        let time = time ?? HostCertificate.now
        return isOfHost && !hasCriticalOptions && begin <= time && time < end
    }

    /// Whether the certificate is for a machine, as OpenSSH's agent compares its name.
    func names(_ host: [UInt8]) -> Bool {
        guard host.count <= DestinationConstraint.maximumUserLength else { return false }
        return principals.isEmpty
            || principals.contains {
                $0.count <= DestinationConstraint.maximumUserLength && Pattern.matches(host[...], $0[...])
            }
    }
}
