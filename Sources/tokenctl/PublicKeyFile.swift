internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A file with a certificate, a request for one, or a public key, in PEM or DER.
enum PublicKeyFile {
    private static let limit = 1 << 20

    /// The SubjectPublicKeyInfo of the first key in the file.
    static func read(_ path: String) throws -> [UInt8] {
        let input = try Input(path)
        let bytes = try input.whole(limit: limit)
        do throws(CryptoError) { return try key(in: bytes) } catch {
            throw CommandError(
                "'\(input.name)' holds no certificate, request or public key that can be read", "\(error)")
        }
    }

    private static func key(in bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard PEM.isPEM(bytes.span) else {
            if let certificate = try? Certificate(der: bytes) { return certificate.spki }
            if let key = try? PublicKey(spki: bytes) { return key.spki }
            return try CertificationRequest.provenKey(of: bytes).spki
        }
        let reader = try PEMReader(bytes.span)
        while let block = try reader.next() {
            let der = block.der.copied()
            switch block.label {
            case "CERTIFICATE": return try Certificate(der: der).spki
            case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
                return try CertificationRequest.provenKey(of: der).spki
            case "PUBLIC KEY": return try PublicKey(spki: der).spki
            default: continue
            }
        }
        throw CryptoError(.malformed, "PEM")
    }
}
