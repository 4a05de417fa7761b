internal import SecureBytes
internal import SystemCrypto

extension SSHPublicKey {
    /// Whether a signature in SSH's form is the key's over a message: RFC 4253 §6.6, RFC 5656 §3.1.2, RFC 8332 and RFC 8709; of a security
    /// key OpenSSH's PROTOCOL.u2f, "SSH U2F signatures". RSA with SHA-1 counts as wrong.
    func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool { (try? isValid(signature, message)) == true }

    private func isValid(_ signature: [UInt8], _ message: [UInt8]) throws(MalformedMessage) -> Bool {
        var rest = signature.span
        let (name, value) = (try rest.readBytes(), try rest.readBytes())
        guard let application else {
            try rest.finish()
            guard let (_, algorithm) = SSHSignature.algorithms(of: key.kind).first(where: { isName(name, $0.name) })
            else { return false }
            return isValid(value, message, algorithm)
        }
        // The flags tell whether a person was there. A machine's key has no person, and OpenSSH does not ask for one either.
        let (flags, counter) = (try rest.readByte(), try rest.readNumber())
        try rest.finish()
        guard let (bareName, algorithm) = SSHSignature.algorithms(of: key.kind).first,
            isName(name, "sk-\(bareName)@openssh.com"), let first = try? Digest.hash(application, using: .sha256),
            let last = try? Digest.hash(message, using: .sha256)
        else { return false }
        return isValid(value, first + [flags] + counter.bigEndianBytes + last, algorithm)
    }

    private func isName(_ bytes: [UInt8], _ name: String) -> Bool { bytes.elementsEqual(name.utf8) }

    private func isValid(_ value: [UInt8], _ message: [UInt8], _ algorithm: SignatureAlgorithm) -> Bool {
        guard let value = key.kind.isEC ? SSHSignature.fixedWidth(value, key.kind) : value else { return false }
        return (try? key.verify(value, message: message, using: algorithm)) == true
    }
}
