internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// The card's answer: checked for its form, and given the form that was asked for.
extension PrivateKeyRequest {
    /// - Parameter isTrusted: whether the key's last signature was right, just now. To check one of ECDSA takes longer than
    ///   all else that is done for it; a faulty one of the other kinds gives the private key away, and is always found.
    /// - Throws: ``TokenError`` `.malformed` for an answer that is not what was asked for.
    func complete(_ answer: consuming Secret, isTrusted: Bool) throws(TokenError) -> Secret {
        do throws(CryptoError) {
            switch completion {
            case .rsaSignature(let block, let key):
                try requireLength(answer)
                try require(key.encrypt(answer.bytes, using: .raw) == block)
                return answer
            case .ecdsaSignature(let algorithm, let digest, let key):
                // The card's DER is parsed, and where it is asked for, written anew.
                let bare = SignatureAlgorithm.ecdsa(nil, .rfc4754)
                let halves = try bare.signature(fromBare: answer.copied(), of: key.kind)
                if !isTrusted { try require(key.verify(halves, digest: digest, using: bare)) }
                var signature = try algorithm.signature(fromFixedWidth: halves)
                return Secret(consuming: &signature)
            case .ed25519Signature(let message, let key):
                try requireLength(answer)
                try require(key.verify(answer.copied(), message: message, using: .ed25519))
                return answer
            case .decryption(let algorithm, let ciphertext):
                try requireLength(answer)
                return try algorithm.plaintext(in: answer, ciphertext: ciphertext)
            case .agreement:
                try requireLength(answer)
                try PrivateKeyRequest.requireContribution(answer)
                return answer
            }
        } catch {
            // The card's answer is at fault, except for a ciphertext that was made for another key or with another
            // padding.
            if error.code == .decryptionFailed {
                throw TokenError(.decryptionFailed, "the input is not encrypted for this key with this padding")
            }
            throw TokenError(.malformed, "the card's answer is wrong, and was not passed on: \(error)")
        }
    }

    private func requireLength(_ answer: borrowing Secret) throws(CryptoError) {
        guard answer.count == answerLength else { throw CryptoError(.invalidLength, "\(answer.count) bytes") }
    }

    private func require(_ isRight: Bool) throws(CryptoError) {
        guard isRight else {
            throw CryptoError(.invalidKey, "the signature does not verify with the certificate's key")
        }
    }

    /// Refuses a shared secret of zeros, which a peer's key gives that contributes nothing (RFC 7748 §6.1).
    private static func requireContribution(_ secret: borrowing Secret) throws(CryptoError) {
        let bytes = secret.bytes
        var all: UInt8 = 0
        for index in bytes.indices { all |= bytes[index] }
        guard all != 0 else { throw CryptoError(.invalidKey, "a shared secret of zeros") }
    }
}
