internal import CCryptoki
internal import PKCS11Mechanisms
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// An operation in the form of a request to a module, and the treatment of its answer.
struct ModuleKeyUse {
    let request: KeyUse
    private let action: TokenOperation.Action
    private let key: PublicKey

    /// - Throws: ``TokenError`` `.invalidArgument` for an operation that the key cannot do, or input that does not fit the key.
    init(_ action: TokenOperation.Action, _ key: ModuleKey) throws(TokenError) {
        (self.action, self.key) = (action, key.publicKey)
        do throws(CryptoError) {
            request = try ModuleKeyUse.request(action, key)
        } catch {
            throw TokenError(.invalidArgument, "the key cannot do this: \(error)")
        }
    }

    /// The longest message of one request to the worker, less the space that the rest of the request takes.
    private static let maximumMessage = MessageSocket.maximumFields - (1 << 20)

    private static func request(
        _ action: TokenOperation.Action, _ key: ModuleKey
    ) throws(CryptoError) -> KeyUse {
        func use(_ kind: KeyUse.Kind, _ candidateMechanisms: [KeyMechanism], length: Int = 0) -> KeyUse {
            KeyUse(
                kind: kind, id: key.id, label: key.label, publicKey: key.publicKey.spki,
                candidateMechanisms: candidateMechanisms,
                length: UInt64(length))
        }
        let kind = key.publicKey.kind
        switch (action, kind) {
        case (.sign(let algorithm, _), _) where !algorithm.suits(kind): throw CryptoError(.unsupported, "\(kind)")
        case (.sign(let algorithm, let input), .rsa(let bits)):
            let block = try algorithm.bareInput(of: input, for: kind)
            try requireLength(block.count, (bits + 7) / 8)
            let raw = KeyMechanism(.signature(.rsaRaw), block)
            if case .rsaPSS(let digest, let mgf1, let saltLength?) = algorithm {
                return use(
                    .sign, [raw, KeyMechanism(.pss(nil), input, digest, mgf1: mgf1, saltLength: saltLength)])
            }
            // More modules offer PKCS#1 than raw RSA, and the block shows whether its padding is that of PKCS#1.
            guard let content = content(ofPKCS1: block) else { return use(.sign, [raw]) }
            return use(.sign, [KeyMechanism(.signature(.rsaPKCS1(nil)), content), raw])
        case (.sign(let algorithm, let input), .ecP256), (.sign(let algorithm, let input), .ecP384),
            (.sign(let algorithm, let input), .ecP521):
            let digest = try algorithm.bareInput(of: input, for: kind)
            let truncated = ECDSASignature.truncate(digest, orderBits: kind.bits ?? 0)
            return use(.sign, [KeyMechanism(.signature(.ecdsa(nil, .rfc4754)), truncated)])
        case (.sign(.ed25519, let message), .ed25519):
            guard message.count <= maximumMessage else {
                throw CryptoError(.invalidLength, "Ed25519 by a module signs up to \(maximumMessage) bytes")
            }
            return use(.sign, [KeyMechanism(.signature(.ed25519), message)])
        case (.decrypt(let algorithm, let ciphertext), .rsa(let bits)):
            try requireLength(ciphertext.count, (bits + 7) / 8)
            let raw = KeyMechanism(.encryption(.raw), ciphertext)
            switch algorithm {
            case .raw: return use(.decrypt, [raw])
            case .pkcs1: return use(.decrypt, [raw, KeyMechanism(.encryption(.pkcs1), ciphertext)])
            case .oaep(let digest, let mgf1, let label):
                // Requests to the worker have no field for a label.
                guard label.isEmpty else { return use(.decrypt, [raw]) }
                return use(.decrypt, [raw, KeyMechanism(.oaep, ciphertext, digest, mgf1: mgf1)])
            }
        case (.agree(let point), .ecP256), (.agree(let point), .ecP384), (.agree(let point), .ecP521):
            return use(.derive, [KeyMechanism(.keyExchange(.standard), point)], length: kind.coordinateLength ?? 0)
        case (.agree(let point), .x25519):
            return use(.derive, [KeyMechanism(.keyExchange(.standard), point)], length: 32)
        default: throw CryptoError(.unsupported, "\(kind)")
        }
    }

    /// Checks the module's result, and converts it to the form of a token's answer.
    func finish(_ made: consuming Secret, _ candidate: KeyMechanism) throws(TokenError) -> Secret {
        do throws(CryptoError) {
            switch (action, key.kind) {
            case (.sign(let algorithm, let input), .rsa(let bits)):
                let signature = try made.filled(to: (bits + 7) / 8)
                try require(isRight(signature, algorithm, input))
                return signature
            case (.sign(let algorithm, let input), _):
                var signature = try algorithm.signature(fromFixedWidth: made.copied())
                try require(key.verify(signature, of: input, using: algorithm))
                return Secret(consuming: &signature)
            case (.decrypt, .rsa) where candidate.mechanism != CKM_RSA_X_509: return made
            case (.decrypt(let algorithm, let ciphertext), .rsa(let bits)):
                return try algorithm.plaintext(in: made.filled(to: (bits + 7) / 8), ciphertext: ciphertext)
            default: return try made.filled(to: Int(request.length))
            }
        } catch {
            if error.code == .decryptionFailed {
                throw TokenError(.decryptionFailed, "the input is not encrypted for this key with this padding")
            }
            throw TokenError(.malformed, "the module's answer is wrong, and was not passed on: \(error)")
        }
    }

    private func isRight(
        _ signature: borrowing Secret, _ algorithm: SignatureAlgorithm, _ input: [UInt8]
    ) throws(CryptoError) -> Bool {
        // PSS blocks differ by their random salt, so that the signature is verified instead of compared.
        if case .rsaPSS(let digest, let mgf1, _) = algorithm {
            let scheme = SignatureAlgorithm.rsaPSS(digest, mgf1: mgf1, saltLength: nil)
            return try key.verify(signature.copied(), digest: input, using: scheme)
        }
        return try key.encrypt(signature.copied(), using: .raw) == algorithm.bareInput(of: input, for: key.kind)
    }

    private func require(_ isRight: Bool) throws(CryptoError) {
        guard isRight else { throw CryptoError(.invalidKey, "the signature does not verify with the key") }
    }

    private static func requireLength(_ count: Int, _ wanted: Int) throws(CryptoError) {
        guard count == wanted else { throw CryptoError(.invalidLength, "\(count) bytes, not \(wanted)") }
    }

    /// The content of a PKCS#1 v1.5 signature block, which follows `00 01 FF … FF 00` with at least eight `FF`. RFC 8017 §9.2.
    private static func content(ofPKCS1 block: [UInt8]) -> [UInt8]? {
        guard block.starts(with: [0x00, 0x01]) else { return nil }
        let rest = block.dropFirst(2).drop { $0 == 0xFF }
        guard rest.first == 0, rest.startIndex >= 10 else { return nil }
        return Array(rest.dropFirst())
    }
}

extension KeyMechanism {
    fileprivate init(
        _ use: MechanismUse, _ input: [UInt8], _ digest: DigestAlgorithm? = nil, mgf1: DigestAlgorithm? = nil,
        saltLength: Int = 0
    ) {
        self.init(
            mechanism: UInt64(MechanismTable.type(of: use)), input: input,
            digest: UInt64(digest?.numbers.mechanism ?? 0), mask: UInt64(mgf1?.numbers.mgf ?? 0),
            saltLength: UInt64(clamping: saltLength))
    }
}

extension Secret {
    /// The number, padded with leading zeros, which some modules leave out.
    fileprivate consuming func filled(to length: Int) throws(CryptoError) -> Secret {
        guard count <= length, count > 0 else { throw CryptoError(.invalidLength, "\(count) bytes, not \(length)") }
        guard count < length else { return self }
        return Secret(capacity: length) { output in
            for _ in 0..<(length - count) { output.append(0) }
            output.append(bytes)
        }
    }
}
