import CCryptoki
import PKCS11Mechanisms
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Every mechanism, with keys on a card and in a keychain, checked by OpenSSL.
@Suite struct MechanismTests {
    private static let message = Array("what is to be signed".utf8)

    /// A session with a card of one algorithm, logged in.
    private func card(_ algorithm: CardAlgorithm) throws -> (TestModule, CK_SESSION_HANDLE) {
        let module = try TestModule(VirtualReader(card: try Cards.plain(algorithm, .yubiKey57)))
        return (module, try module.session(loggedIn: true))
    }

    private func pss(_ type: CK_MECHANISM_TYPE, _ digest: DigestAlgorithm, salt: Int) -> MechanismRequest {
        let mgf: [DigestAlgorithm: CK_ULONG] = [
            .sha1: CKG_MGF1_SHA1, .sha224: CKG_MGF1_SHA224, .sha256: CKG_MGF1_SHA256, .sha384: CKG_MGF1_SHA384,
            .sha512: CKG_MGF1_SHA512,
        ]
        return MechanismRequest(
            type, .pss(hash: digest.numbers.mechanism, mgf: mgf[digest] ?? 0, saltLength: CK_ULONG(salt)))
    }

    @Test func rsaSignsByEveryMechanism() throws {
        let (module, session) = try card(.rsa2048)
        let (key, publicKey) = (try module.key(session, [1]), try module.publicKey(session, [1]))
        let rows = MechanismTable.rows.filter { $0.use.flags & CKF_SIGN != 0 && $0.use.suits(.rsa(bits: 2048)) }
        #expect(rows.count == 13)
        for row in rows {
            switch row.use {
            case .signature(.rsaPKCS1(nil)):
                let hash = try Digest.hash(Self.message, using: .sha256)
                let input = try RSAPadding.digestInfo(hash, algorithm: .sha256)
                let signature = try module.sign(session, MechanismRequest(row.type), key, input)
                #expect(try publicKey.verify(signature, digest: hash, using: .rsaPKCS1(.sha256)))
            case .messageSignature(.rsaPKCS1(let digest?)):
                let signature = try module.sign(session, MechanismRequest(row.type), key, Self.message)
                #expect(try publicKey.verify(signature, message: Self.message, using: .rsaPKCS1(digest)))
            case .pss(let ownDigest):
                let digest = ownDigest ?? .sha256
                let hash = try Digest.hash(Self.message, using: digest)
                let input = ownDigest == nil ? hash : Self.message
                for salt in [0, 20, digest.byteCount] {
                    let signature = try module.sign(session, pss(row.type, digest, salt: salt), key, input)
                    #expect(
                        try publicKey.verify(
                            signature, digest: hash, using: .rsaPSS(digest, mgf1: digest, saltLength: salt)))
                }
            case .signature(.rsaRaw):
                let hash = try Digest.hash(Self.message, using: .sha256)
                let block = try RSAPadding.pkcs1Raw(RSAPadding.digestInfo(hash, algorithm: .sha256), keyBytes: 256)
                let signature = try module.sign(session, MechanismRequest(row.type), key, block)
                #expect(try publicKey.verify(signature, digest: hash, using: .rsaPKCS1(.sha256)))
            default: Issue.record("no mechanism of RSA")
            }
        }
    }

    @Test func pssWithTwoHashFunctionsIsPaddedHere() throws {
        let (module, session) = try card(.rsa2048)
        let request = MechanismRequest(
            CKM_SHA256_RSA_PKCS_PSS, .pss(hash: CKM_SHA256, mgf: CKG_MGF1_SHA1, saltLength: 11))
        let signature = try module.sign(session, request, module.key(session, [1]), Self.message)
        let isValid = try module.publicKey(session, [1]).verify(
            signature, message: Self.message, using: .rsaPSS(.sha256, mgf1: .sha1, saltLength: 11))
        #expect(isValid)
    }

    @Test(arguments: [(CardAlgorithm.p256, 64), (.p384, 96)])
    func ecdsaSignsByEveryMechanism(algorithm: CardAlgorithm, length: Int) throws {
        let (module, session) = try card(algorithm)
        let (key, publicKey) = (try module.key(session, [1]), try module.publicKey(session, [1]))
        let rows = MechanismTable.rows.filter { $0.use.flags & CKF_SIGN != 0 && $0.use.suits(.ecP256) }
        #expect(rows.count == 6)
        for row in rows {
            var digest: DigestAlgorithm?
            if case .messageSignature(let algorithm) = row.use { digest = algorithm.digestAlgorithm }
            let hash = try Digest.hash(Self.message, using: digest ?? .sha512)
            let input = digest == nil ? hash : Self.message
            let signature = try module.sign(session, MechanismRequest(row.type), key, input)
            #expect(signature.count == length)
            #expect(
                try publicKey.verify(ECDSASignature.der(fromFixedWidth: signature), digest: hash, using: .ecdsa(nil)))
        }
    }

    @Test func ed25519SignsMessages() throws {
        let (module, session) = try card(.ed25519)
        let signature = try module.sign(
            session, MechanismRequest(CKM_EDDSA), module.key(session, [1]), Self.message)
        #expect(try module.publicKey(session, [1]).verify(signature, message: Self.message, using: .ed25519))
    }

    @Test func aSignatureInPartsIsThatOfTheWhole() throws {
        let (module, session) = try card(.rsa2048)
        let key = try module.key(session, [1])
        for type in [CKM_SHA256_RSA_PKCS, CKM_SHA1_RSA_PKCS] {
            let whole = try module.sign(session, MechanismRequest(type), key, Self.message)
            try module.cryptoki.signInit(session, MechanismRequest(type), key: key)
            for byte in Self.message { try module.cryptoki.signUpdate(session, [byte]) }
            #expect(try length(of: module.cryptoki.signFinal(session, .query)) == 256)
            #expect(try bytes(of: module.cryptoki.signFinal(session, .bytes(256))) == whole)
        }
    }

    @Test func signaturesAreCheckedByEveryMechanism() throws {
        let (module, session) = try card(.rsa2048)
        let (key, publicKey) = (try module.key(session, [1]), try module.key(session, [1], CKO_PUBLIC_KEY))
        let requests = [
            MechanismRequest(CKM_SHA256_RSA_PKCS), MechanismRequest(CKM_RSA_PKCS), MechanismRequest(CKM_RSA_X_509),
            pss(CKM_SHA384_RSA_PKCS_PSS, .sha384, salt: 48),
        ]
        for request in requests {
            let signature = try module.sign(session, request, key, Self.message)
            try module.cryptoki.verifyInit(session, request, key: publicKey)
            try module.cryptoki.verify(session, Self.message, signature: signature)
            try module.cryptoki.verifyInit(session, request, key: publicKey)
            for byte in Self.message { try module.cryptoki.verifyUpdate(session, [byte]) }
            try module.cryptoki.verifyFinal(session, signature: signature)
            var altered = signature
            altered[100] ^= 1
            try module.cryptoki.verifyInit(session, request, key: publicKey)
            let wrong = returned { try module.cryptoki.verify(session, Self.message, signature: altered) }
            #expect(wrong == CKR_SIGNATURE_INVALID)
            try module.cryptoki.verifyInit(session, request, key: publicKey)
            let short = returned { try module.cryptoki.verify(session, Self.message, signature: [1]) }
            #expect(short == CKR_SIGNATURE_LEN_RANGE)
        }
    }

    @Test func whatIsEncryptedIsDecryptedOnTheCard() throws {
        let (module, session) = try card(.rsa2048)
        let (key, publicKey) = (try module.key(session, [3]), try module.key(session, [3], CKO_PUBLIC_KEY))
        let requests = [
            MechanismRequest(CKM_RSA_PKCS),
            MechanismRequest(CKM_RSA_PKCS_OAEP, .oaep(hash: CKM_SHA256, mgf: CKG_MGF1_SHA256, label: [])),
            MechanismRequest(CKM_RSA_PKCS_OAEP, .oaep(hash: CKM_SHA256, mgf: CKG_MGF1_SHA1, label: [1, 2, 3])),
        ]
        for request in requests {
            try module.cryptoki.encryptInit(session, request, key: publicKey)
            let ciphertext = try bytes(of: module.cryptoki.encrypt(session, .of("secret"), .bytes(256)))
            try module.cryptoki.decryptInit(session, request, key: key)
            #expect(try length(of: module.cryptoki.decrypt(session, ciphertext, .query)) == 256)
            // Too little room: the answer is kept, and the card is not asked again.
            #expect(try length(of: module.cryptoki.decrypt(session, ciphertext, .bytes(5))) == 6)
            module.reader.clearLog()
            #expect(try bytes(of: module.cryptoki.decrypt(session, ciphertext, .bytes(6))) == Array("secret".utf8))
            #expect(module.reader.log.isEmpty)
        }
    }

    /// PKCS #11 §5.2: a program that asks how much room it needs has given nothing yet.
    @Test func askingForTheLengthOfAPartTakesNoPart() throws {
        let (module, session) = try card(.rsa2048)
        let (key, publicKey) = (try module.key(session, [3]), try module.key(session, [3], CKO_PUBLIC_KEY))
        let (cryptoki, request) = (module.cryptoki, MechanismRequest(CKM_RSA_PKCS))
        try cryptoki.encryptInit(session, request, key: publicKey)
        #expect(try length(of: cryptoki.encryptUpdate(session, .of("secret"), .query)) == 0)
        #expect(try bytes(of: cryptoki.encryptUpdate(session, .of("secret"), .bytes(0))).isEmpty)
        let ciphertext = try bytes(of: cryptoki.encryptFinal(session, .bytes(256)))
        try cryptoki.decryptInit(session, request, key: key)
        for part in [ciphertext.prefix(100), ciphertext.dropFirst(100)] {
            #expect(try length(of: cryptoki.decryptUpdate(session, Array(part), .query)) == 0)
            _ = try cryptoki.decryptUpdate(session, Array(part), .bytes(0))
        }
        #expect(try bytes(of: cryptoki.decryptFinal(session, .bytes(256))) == Array("secret".utf8))
    }

    @Test func aWrongPKCS1PaddingIsNoErrorAndGivesRandomBytes() throws {
        let (module, session) = try card(.rsa2048)
        let key = try module.key(session, [3])
        let garbage = [UInt8](repeating: 0x11, count: 256)
        try module.cryptoki.decryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: key)
        #expect(returned { _ = try module.cryptoki.decrypt(session, garbage, .bytes(256)) } == CKR_OK)
    }

    @Test(arguments: [(CardAlgorithm.p256, KeyKind.ecP256), (.p384, .ecP384), (.x25519, .x25519)])
    func bothSidesAgreeOnAKey(algorithm: CardAlgorithm, kind: KeyKind) throws {
        let (module, session) = try card(algorithm)
        let key = try module.key(session, [3])
        let own = try module.publicKey(session, [3])
        let peer = try PrivateKey.generate(kind)
        let point = peer.publicKey.rawRepresentation
        let shared = try peer.sharedSecret(with: own).copy
        for data in [point, Encoded.octetString(point)] {
            let request = MechanismRequest(
                CKM_ECDH1_DERIVE, .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: data))
            let derived = try module.cryptoki.deriveKey(session, request, base: key, Template())
            #expect(try module.value(session, derived, CKA_VALUE) == shared)
        }
        let request = MechanismRequest(
            CKM_ECDH1_COFACTOR_DERIVE, .agreement(kdf: CKD_SHA256_KDF, sharedInfo: [7], publicData: point))
        let template = Template([(CKA_VALUE_LEN, Encoded.ulong(48)), (CKA_SENSITIVE, [1])])
        let derived = try module.cryptoki.deriveKey(session, request, base: key, template)
        #expect(returned { _ = try module.value(session, derived, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        #expect(try module.value(session, derived, CKA_VALUE_LEN) == Encoded.ulong(48))
        try module.cryptoki.closeSession(session)
    }

    /// RFC 7748 §6.1: values that give the same result with every key, and so no secret.
    @Test func nothingIsAgreedOnWithAValueThatContributesNothing() throws {
        let (module, session) = try card(.x25519)
        let key = try module.key(session, [3])
        module.reader.clearLog()
        let order8: [UInt8] = [
            0xE0, 0xEB, 0x7A, 0x7C, 0x3B, 0x41, 0xB8, 0xAE, 0x16, 0x56, 0xE3, 0xFA, 0xF1, 0x9F, 0xC4, 0x6A, 0xDA, 0x09,
            0x8D, 0xEB, 0x9C, 0x32, 0xB1, 0xFD, 0x86, 0x62, 0x05, 0x16, 0x5F, 0x49, 0xB8, 0x00,
        ]
        let zeros = [UInt8](repeating: 0, count: 32)
        for peer in [zeros, [1] + zeros.dropLast(), order8] {
            let request = MechanismRequest(
                CKM_ECDH1_DERIVE, .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: peer))
            #expect(
                returned { _ = try module.cryptoki.deriveKey(session, request, base: key, Template()) }
                    == CKR_MECHANISM_PARAM_INVALID)
        }
        #expect(module.reader.log.isEmpty)
        try module.cryptoki.closeSession(session)
    }

    @Test func aPointThatIsOnNoCurveIsNotSentToTheCard() throws {
        let (module, session) = try card(.p256)
        let key = try module.key(session, [3])
        module.reader.clearLog()
        let request = MechanismRequest(
            CKM_ECDH1_DERIVE,
            .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: [4] + [UInt8](repeating: 1, count: 64)))
        let code = returned { _ = try module.cryptoki.deriveKey(session, request, base: key, Template()) }
        #expect(code == CKR_MECHANISM_PARAM_INVALID)
        #expect(module.reader.log.isEmpty)
        try module.cryptoki.closeSession(session)
    }

    @Test func secretKeysAreWrappedAndUnwrapped() throws {
        let (module, session) = try card(.rsa2048)
        let request = MechanismRequest(CKM_RSA_PKCS)
        let template = Template([
            (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_AES)),
            (CKA_VALUE, Array(0..<32)),
        ])
        let secret = try module.cryptoki.createObject(session, template)
        let publicKey = try module.key(session, [3], CKO_PUBLIC_KEY)
        let wrapped = try bytes(
            of: module.cryptoki.wrapKey(session, request, wrapping: publicKey, key: secret, .bytes(256)))
        let unwrapped = try module.cryptoki.unwrapKey(
            session, request, unwrapping: module.key(session, [3]), wrapped, Template())
        #expect(try module.value(session, unwrapped, CKA_VALUE) == Array(0..<32))
        try module.cryptoki.destroyObject(session, unwrapped)
        #expect(returned { _ = try module.value(session, unwrapped, CKA_VALUE) } == CKR_OBJECT_HANDLE_INVALID)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func digestsAreTaken(algorithm: DigestAlgorithm) throws {
        let (module, session) = try card(.p256)
        let expected = try Digest.hash(Self.message, using: algorithm)
        let request = MechanismRequest(algorithm.numbers.mechanism)
        try module.cryptoki.digestInit(session, request)
        #expect(try length(of: module.cryptoki.digest(session, Self.message, .query)) == algorithm.byteCount)
        #expect(try bytes(of: module.cryptoki.digest(session, Self.message, .bytes(64))) == expected)
        try module.cryptoki.digestInit(session, request)
        for byte in Self.message { try module.cryptoki.digestUpdate(session, [byte]) }
        #expect(try bytes(of: module.cryptoki.digestFinal(session, .bytes(64))) == expected)
    }

    /// A program that finds a mechanism which the card lacks fails only when it uses it.
    @Test(arguments: [
        (CardProfile.yubiKey57, 1024...4096, 384, true), (.yubiKey54, 1024...2048, 384, false),
        (.yubiKeyNEO, 1024...2048, 256, false), (.generic, 2048...2048, 384, false),
        (.pivApplet, 1024...2048, 384, false),
    ])
    func mechanismsAreThoseOfTheFirmware(
        profile: CardProfile, rsa: ClosedRange<Int>, curve: Int, hasEdDSA: Bool
    ) throws {
        let reader = VirtualReader(card: try Cards.plain(.p256, profile))
        let first = try TestModule(reader)
        func check(_ module: TestModule) throws {
            let slot = try #require(module.slots.first)
            #expect(try module.cryptoki.mechanism(CKM_RSA_PKCS, of: slot).keySizes == rsa)
            #expect(try module.cryptoki.mechanism(CKM_ECDSA, of: slot).keySizes?.upperBound == curve)
            #expect(try module.cryptoki.mechanisms(slot).contains { $0.type == CKM_EDDSA } == hasEdDSA)
        }
        try check(first)
        // This holds for a card that is remembered, and for one that comes in another's place.
        _ = try first.find(first.session(), (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)))
        try check(TestModule(reader, sharing: first))
        reader.remove()
        reader.insert(try Cards.mixed(.yubiKey57))
        #expect(try first.cryptoki.mechanism(CKM_RSA_PKCS, of: first.slots[0]).keySizes?.upperBound == 4096)
    }

    @Test func everyMechanismThatIsListedIsAllowedForAKeyOrNeedsNone() throws {
        let (module, session) = try card(.rsa2048)
        let listed = try module.cryptoki.mechanisms(module.slots[0])
        #expect(Set(listed.map(\.type)).count == listed.count)
        let allowed = try module.value(session, module.key(session, [1]), CKA_ALLOWED_MECHANISMS)
        let own = listed.filter { $0.flags & (CKF_SIGN | CKF_DECRYPT) != 0 && ($0.keySizes?.contains(2048) ?? false) }
        #expect(
            Set(own.map(\.type))
                == Set(
                    stride(from: 0, to: allowed.count, by: 8).map { index in
                        Encoded.ulong(in: Array(allowed[index..<index + 8])) ?? 0
                    }))
    }
}
