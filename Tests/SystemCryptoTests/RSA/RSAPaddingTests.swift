import SecureBytes
import Testing

@testable import SystemCrypto

/// The host pads, the bare operation stands for a card, and OpenSSL checks the result.
@Suite struct RSAPaddingTests {
    static let keyBits = [1024, 1028, 1025, 2048]

    private func card(_ bits: Int) throws -> PrivateKey {
        bits == 2048 ? try TestKeys.rsa() : try PrivateKey.generate(.rsa(bits: bits))
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func pkcs1SignaturesVerify(algorithm: DigestAlgorithm) throws {
        let key = try TestKeys.rsa()
        let digest = try Digest.hash(utf8("message"), using: algorithm)
        let block = try RSAPadding.pkcs1Raw(RSAPadding.digestInfo(digest, algorithm: algorithm), keyBytes: 256)
        let signature = reveal(try key.rsaPrivateOperation(block))
        #expect(signature == (try key.sign(digest: digest, using: .rsaPKCS1(algorithm))))
    }

    @Test func rawPaddingIsPKCS1WithoutDigestInfo() throws {
        let key = try TestKeys.rsa()
        for data in [[], utf8("anything"), [UInt8](repeating: 9, count: 245)] {
            let block = try RSAPadding.pkcs1Raw(data, keyBytes: 256)
            #expect(reveal(try key.rsaPrivateOperation(block)) == (try key.sign(digest: data, using: .rsaPKCS1(nil))))
        }
        #expect(try RSAPadding.pkcs1Raw([7], keyBytes: 12) == hex("0001FFFFFFFFFFFFFFFF0007".prefix(18) + "FF0007"))
    }

    @Test(arguments: keyBits, [DigestAlgorithm.sha1, .sha256, .sha384])
    func pssSignaturesVerify(bits: Int, algorithm: DigestAlgorithm) throws {
        let key = try card(bits)
        let digest = try Digest.hash(utf8("message"), using: algorithm)
        let block = try RSAPadding.pss(digest: digest, algorithm: algorithm, mgf1: algorithm, keyBits: bits)
        #expect(block.count == (bits + 7) / 8)
        let signature = reveal(try key.rsaPrivateOperation(block))
        #expect(try key.publicKey.verify(signature, digest: digest, using: .rsaPSS(algorithm)))
    }

    @Test(arguments: [0, 1, 20, 222])
    func pssTakesAnySaltThatFits(length: Int) throws {
        let key = try TestKeys.rsa()
        let digest = try Digest.hash(utf8("message"), using: .sha256)
        let salt = try RandomBytes.make(count: length)
        let block = try RSAPadding.pss(
            digest: digest, algorithm: .sha256, mgf1: .sha512, salt: salt, keyBits: 2048)
        let signature = reveal(try key.rsaPrivateOperation(block))
        let algorithm = SignatureAlgorithm.rsaPSS(.sha256, mgf1: .sha512, saltLength: length)
        #expect(try key.publicKey.verify(signature, digest: digest, using: algorithm))
    }

    @Test(arguments: [Int.min, -1, 0, 1, 61, 2048 * 8 + 1, Int.max])
    func keysOfNoUsefulSizeAreErrors(keyBytes: Int) throws {
        let digest = try Digest.hash([], using: .sha256)
        #expect(throws: CryptoError(.invalidLength, "")) {
            try RSAPadding.pkcs1Raw(RSAPadding.digestInfo(digest, algorithm: .sha256), keyBytes: keyBytes)
        }
        #expect(throws: CryptoError(.invalidLength, "")) {
            try RSAPadding.pss(digest: digest, algorithm: .sha256, mgf1: .sha256, keyBits: keyBytes)
        }
    }

    @Test func whatDoesNotFitIsAnError() throws {
        let digest = try Digest.hash([], using: .sha256)
        let invalid = CryptoError(.invalidLength, "")
        #expect(throws: invalid) { try RSAPadding.pkcs1Raw([UInt8](repeating: 1, count: 246), keyBytes: 256) }
        #expect(throws: invalid) {
            try RSAPadding.pkcs1Raw(RSAPadding.digestInfo(digest, algorithm: .sha1), keyBytes: 256)
        }
        #expect(throws: invalid) {
            try RSAPadding.pss(digest: digest, algorithm: .sha384, mgf1: .sha256, keyBits: 2048)
        }
        let salt = [UInt8](repeating: 1, count: 223)
        #expect(throws: invalid) {
            try RSAPadding.pss(digest: digest, algorithm: .sha256, mgf1: .sha256, salt: salt, keyBits: 2048)
        }
    }
}

@Suite struct OAEPRemovalTests {
    @Test(arguments: DigestAlgorithm.allCases)
    func whatOpenSSLPadsComesOff(algorithm: DigestAlgorithm) throws {
        let key = try TestKeys.rsa()
        for message in [[], [1], [0, 0, 1, 1], [UInt8](repeating: 1, count: 126)] {
            let ciphertext = try key.publicKey.encrypt(
                message, using: .oaep(algorithm, mgf1: .sha256, label: utf8("label")))
            let block = try key.rsaPrivateOperation(ciphertext)
            let removed = try RSAPadding.removeOAEP(block, algorithm: algorithm, mgf1: .sha256, label: utf8("label"))
            #expect(reveal(removed) == message)
        }
    }

    /// A block with any data block and first byte, as OAEP would mask it.
    private func block(firstByte: UInt8 = 0, data: [UInt8]) throws -> Secret {
        let seed = [UInt8](repeating: 0x33, count: 32)
        let dataMask = reveal(try MGF1.mask(seed: seed.span, count: data.count, using: .sha256))
        let maskedData = zip(data, dataMask).map { $0 ^ $1 }
        let seedMask = reveal(try MGF1.mask(seed: maskedData.span, count: 32, using: .sha256))
        return secret([firstByte] + zip(seed, seedMask).map { $0 ^ $1 } + maskedData)
    }

    private func remove(_ block: borrowing Secret) throws(CryptoError) -> [UInt8] {
        reveal(try RSAPadding.removeOAEP(block, algorithm: .sha256, mgf1: .sha256))
    }

    @Test func theSeparatorMayBeAnywhere() throws {
        let labelHash = try Digest.hash([], using: .sha256)
        #expect(try remove(block(data: labelHash + [1] + [5, 6])) == [5, 6])
        #expect(try remove(block(data: labelHash + [0, 0, 1, 1, 0])) == [1, 0])
        #expect(try remove(block(data: labelHash + [0, 0, 1])) == [])
    }

    @Test func everythingWrongIsOneError() throws {
        let labelHash = try Digest.hash([], using: .sha256)
        let wrong: [(firstByte: UInt8, data: [UInt8])] = [
            (1, labelHash + [0, 1, 5]), (0, flipping(labelHash, at: 0) + [0, 1, 5]),
            (0, flipping(labelHash, at: 31) + [0, 1, 5]), (0, labelHash + [0, 0, 0]), (0, labelHash + [0, 2, 1]),
            (0, labelHash + [3, 1, 5]), (0, [UInt8](repeating: 0, count: 40)),
        ]
        for (firstByte, data) in wrong {
            let block = try block(firstByte: firstByte, data: data)
            let code = errorCode { () throws(CryptoError) in _ = try remove(block) }
            #expect(code == .decryptionFailed)
        }
    }

    @Test(arguments: [0, 1, 65, 4096])
    func blocksTooShortOrTooLongAreErrors(count: Int) {
        let block = secret([UInt8](repeating: 0, count: count))
        #expect(errorCode { () throws(CryptoError) in _ = try remove(block) } == .invalidLength)
    }
}
