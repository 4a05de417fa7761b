internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// The card's answer: its check, and its conversion to the requested form.
extension PrivateKeyRequest {
    /// - Parameter isTrusted: whether the key made a right signature just before, so that an ECDSA signature is not checked,
    ///   which takes longer than all other steps. Other kinds are always checked, since a faulty signature reveals the private
    ///   key.
    /// - Throws: ``TokenError`` `.malformed` for a wrong answer; `.decryptionFailed`.
    func complete(_ answer: consuming Secret, isTrusted: Bool) throws(TokenError) -> Secret {
        do throws(CryptoError) {
            switch completion {
            case .rsaSignature(let block, let key):
                try requireLength(answer)
                try require(key.encrypt(answer.bytes, using: .raw) == block)
                return answer
            case .ecdsaSignature(let algorithm, let digest, let key):
                // The card's DER is parsed, and written again where that form is requested.
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

    /// Refuses a shared secret of zeros, which results from a peer's key of small order (RFC 7748 §6.1).
    private static func requireContribution(_ secret: borrowing Secret) throws(CryptoError) {
        let bytes = secret.bytes
        var all: UInt8 = 0
        for index in bytes.indices { all |= bytes[index] }
        guard all != 0 else { throw CryptoError(.invalidKey, "a shared secret of zeros") }
    }
}
