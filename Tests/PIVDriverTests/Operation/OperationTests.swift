import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// Every operation, with a key of every kind, checked with the public key by OpenSSL.
@Suite struct SignatureTests {
    private let message = Array("a message that somebody signs".utf8)

    private func desk(_ algorithm: CardAlgorithm) throws -> Desk {
        try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9A: algorithm]))
    }

    private static let rsa: [CardAlgorithm] = [.rsa1024, .rsa2048, .rsa3072, .rsa4096]

    @Test(arguments: rsa)
    func rsaPKCS1(algorithm: CardAlgorithm) throws {
        let (desk, key) = (try desk(algorithm), try IssuedCard.publicKey(0x9A, algorithm))
        for digest in DigestAlgorithm.allCases {
            let hash = try Digest.hash(message, using: digest)
            let signature = try desk.perform("9A", .sign(.rsaPKCS1(digest), hash), pin: "123456")
            #expect(try key.verify(signature, digest: hash, using: .rsaPKCS1(digest)), "\(digest)")
        }
    }

    @Test(arguments: rsa)
    func rsaPSS(algorithm: CardAlgorithm) throws {
        let (desk, key) = (try desk(algorithm), try IssuedCard.publicKey(0x9A, algorithm))
        for (digest, salt) in [(DigestAlgorithm.sha256, 32), (.sha256, 0), (.sha384, 20), (.sha1, 20)] {
            let hash = try Digest.hash(message, using: digest)
            let signature = try desk.perform(
                "9A", .sign(.rsaPSS(digest, saltLength: salt), hash), pin: "123456")
            #expect(
                try key.verify(signature, digest: hash, using: .rsaPSS(digest, mgf1: digest, saltLength: salt)),
                "\(digest), salt \(salt)")
        }
    }

    @Test func rsaWithoutADigestIdentifier() throws {
        let (desk, key) = (try desk(.rsa2048), try IssuedCard.publicKey(0x9A, .rsa2048))
        let input = [UInt8](repeating: 0x11, count: 36)
        let signature = try desk.perform("9A", .sign(.rsaPKCS1(nil), input), pin: "123456")
        #expect(try key.verify(signature, digest: input, using: .rsaPKCS1(nil)))
    }

    @Test func rsaOnABareBlock() throws {
        let (desk, key) = (try desk(.rsa2048), try IssuedCard.publicKey(0x9A, .rsa2048))
        let block = [0x00] + [UInt8](repeating: 0x42, count: 255)
        let signature = try desk.perform("9A", .sign(.rsaRaw, block), pin: "123456")
        #expect(try key.encrypt(signature.span, using: .raw) == block)
    }

    /// A digest longer than the curve is cut, a shorter one filled up in front: FIPS 186-5 §6.4.1.
    @Test(arguments: [CardAlgorithm.p256, .p384], [1, 20, 28, 32, 47, 48, 64])
    func ecdsa(algorithm: CardAlgorithm, digestLength: Int) throws {
        let (desk, key) = (try desk(algorithm), try IssuedCard.publicKey(0x9A, algorithm))
        let digest = (0..<digestLength).map { UInt8($0 + 1) }
        let signature = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(try key.verify(signature, digest: digest, using: .ecdsa(nil)))
    }

    @Test(arguments: [0, 1, 64, 2000])
    func ed25519SignsTheMessageItself(length: Int) throws {
        let (desk, key) = (try desk(.ed25519), try IssuedCard.publicKey(0x9A, .ed25519))
        let message = [UInt8](repeating: 0x77, count: length)
        let signature = try desk.perform("9A", .sign(.ed25519, message), pin: "123456")
        #expect(try key.verify(signature, message: message, using: .ed25519))
    }

    @Test(arguments: [CardProfile.genericShort, .genericExtended, .genericT0])
    func howTheBytesTravelMakesNoDifference(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile, keys: [0x9A: .rsa2048]))
        let hash = try Digest.hash(message, using: .sha256)
        let signature = try desk.perform("9A", .sign(.rsaPKCS1(.sha256), hash), pin: "123456")
        let key = try IssuedCard.publicKey(0x9A, .rsa2048)
        #expect(try key.verify(signature, digest: hash, using: .rsaPKCS1(.sha256)))
    }
}

@Suite struct DecryptionTests {
    private let plaintext = Array("a session key of some bytes".utf8)

    private func desk(_ algorithm: CardAlgorithm) throws -> Desk {
        try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9D: algorithm]))
    }

    @Test(arguments: [CardAlgorithm.rsa1024, .rsa2048, .rsa3072, .rsa4096])
    func everyPaddingIsTakenOff(algorithm: CardAlgorithm) throws {
        let (desk, key) = (try desk(algorithm), try IssuedCard.publicKey(0x9D, algorithm))
        let pkcs1 = try key.encrypt(plaintext.span, using: .pkcs1)
        #expect(try desk.perform("9D", .decrypt(.pkcs1, pkcs1), pin: "123456") == plaintext)
        for digest in [DigestAlgorithm.sha1, .sha256] {
            let oaep = try key.encrypt(plaintext.span, using: .oaep(digest))
            #expect(try desk.perform("9D", .decrypt(.oaep(digest), oaep), pin: "123456") == plaintext)
        }
        let block = [0x00] + [UInt8](repeating: 0x33, count: pkcs1.count - 1)
        let raw = try key.encrypt(block.span, using: .raw)
        #expect(try desk.perform("9D", .decrypt(.raw, raw), pin: "123456") == block)
    }

    /// A sender of ciphertexts must not learn whether the padding was right.
    @Test func aWrongPKCS1PaddingIsNoError() throws {
        let (desk, key) = (try desk(.rsa2048), try IssuedCard.publicKey(0x9D, .rsa2048))
        let block = [0x00] + [UInt8](repeating: 0x33, count: 255)
        let ciphertext = try key.encrypt(block.span, using: .raw)
        let first = try desk.perform("9D", .decrypt(.pkcs1, ciphertext), pin: "123456")
        #expect(try desk.perform("9D", .decrypt(.pkcs1, ciphertext), pin: "123456") == first)
        #expect(first != block)
    }

    @Test func aWrongOAEPPaddingIsOneErrorThatSaysNothing() throws {
        let (desk, key) = (try desk(.rsa2048), try IssuedCard.publicKey(0x9D, .rsa2048))
        let other = try key.encrypt(plaintext.span, using: .oaep(.sha1))
        let raw = try key.encrypt(([0x01] + [UInt8](repeating: 0, count: 255)).span, using: .raw)
        let errors = [other, raw].map { ciphertext in
            #expect(throws: TokenError.self) {
                try desk.perform("9D", .decrypt(.oaep(.sha256), ciphertext), pin: "123456")
            }
        }
        #expect(errors.allSatisfy { $0?.code == .decryptionFailed && $0?.reason == errors.first??.reason })
    }

    @Test func whatWasDecryptedIsNotInTheTrace() throws {
        let (desk, key) = (try desk(.rsa2048), try IssuedCard.publicKey(0x9D, .rsa2048))
        let ciphertext = try key.encrypt(plaintext.span, using: .pkcs1)
        _ = try desk.perform("9D", .decrypt(.pkcs1, ciphertext), pin: "123456")
        let trace = desk.trace.lines.joined(separator: "\n")
        #expect(!trace.contains(Hex.encode(plaintext)))
        #expect(!trace.contains("313233343536"))
    }
}

@Suite struct KeyAgreementTests {
    @Test(arguments: [CardAlgorithm.p256, .p384, .x25519])
    func bothSidesComeToTheSameSecret(algorithm: CardAlgorithm) throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9D: algorithm]))
        let key = try IssuedCard.publicKey(0x9D, algorithm)
        let peer = try PrivateKey.generate(key.kind)
        let expected = try peer.sharedSecret(with: key)
        let shared = try desk.perform("9D", .agree(peer.publicKey.rawRepresentation), pin: "123456")
        #expect(shared == Array(copying: expected.bytes))
        #expect(!desk.trace.lines.contains { $0.contains(Hex.encode(shared)) })
    }

    @Test func aKeyOfTheOtherThatContributesNothingIsRefused() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9D: .x25519]))
        #expect(throws: TokenError.self) {
            try desk.perform("9D", .agree(Array(repeating: 0, count: 32)), pin: "123456")
        }
    }
}

@Suite struct AuthorizationTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    @Test func cardAuthenticationNeverAsks() throws {
        let desk = try Desk()
        _ = try desk.perform("9E", .sign(.ecdsa(nil), digest))
        #expect(desk.count(0x20) == 0)
        #expect(desk.commands == [0xA4, 0xCB, 0x87])
    }

    @Test(arguments: ["9A", "9C", "9D"])
    func withoutAPINNothingIsTried(key: String) throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform(key, .sign(.ecdsa(nil), digest)) }
        desk.forgetCommands()
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform(key, .sign(.ecdsa(nil), digest)) }
        #expect(desk.commands.isEmpty)
    }

    @Test func onceIsEnoughForAllKeysButTheSignature() throws {
        let desk = try Desk()
        try desk.verify()
        desk.forgetCommands()
        for key in ["9A", "9D", "9A", "9E"] { _ = try desk.perform(key, .sign(.ecdsa(nil), digest)) }
        #expect(desk.count(0x20) == 0)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9C", .sign(.ecdsa(nil), digest)) }
    }

    @Test func aResetTakesThePINBack() throws {
        let desk = try Desk()
        try desk.verify()
        desk.reader.resetByAnotherClient()
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(desk.statusQueries == 1)
    }

    @Test(arguments: ["9A", "9C"])
    func theKeyIsUsedRightAfterThePIN(key: String) throws {
        for profile in [CardProfile.pivApplet, .openFIPS201, .yubiKey57, .generic, .genericT0] {
            let desk = try Desk(IssuedCard(profile: profile))
            _ = try desk.perform(key, .sign(.ecdsa(nil), digest), pin: "123456")
            let last = desk.reader.log.filter { $0.ins != 0xC0 }.suffix(2)
            #expect(last.map(\.ins) == [0x20, 0x87], "\(profile.name)")
            #expect(last.first?.dataCount == 8)
        }
    }

    @Test func aPINPolicyOfTheCardCountsForMoreThanTheSlots() throws {
        let desk = try Desk(
            IssuedCard(profile: .yubiKey57, pinPolicies: [0x9A: .always, 0x9C: .once, 0x9D: .never]))
        _ = try desk.perform("9D", .sign(.ecdsa(nil), digest))
        try desk.verify()
        _ = try desk.perform("9C", .sign(.ecdsa(nil), digest))
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
    }

    @Test func aWrongPINIsNotFollowedByAnything() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.pinIncorrect, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "000000")
        }
        #expect(desk.commands.last == 0x20)
        #expect(desk.card.triesLeft == 2)
    }

    /// The PIVKey's 9E needs the PIN, which the card does not announce.
    @Test func aKeyThatAsksAgainstTheSpecificationIsGivenThePIN() throws {
        let desk = try Desk(IssuedCard(profile: .pivKey))
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9E", .sign(.ecdsa(nil), digest)) }
        _ = try desk.perform("9E", .sign(.ecdsa(nil), digest), pin: "123456")
    }
}

@Suite struct TouchTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    private func desk(_ touch: CardKey.TouchPolicy, pin: CardKey.PINPolicy = .once) throws -> Desk {
        try Desk(IssuedCard(profile: .yubiKey57, pinPolicies: [0x9A: pin], touchPolicies: [0x9A: touch]))
    }

    @Test(arguments: [CardKey.TouchPolicy.always, .cached])
    func aTouchInTimeIsEnough(policy: CardKey.TouchPolicy) throws {
        let desk = try desk(policy)
        desk.card.touch()
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
    }

    @Test func aTouchThatDoesNotComeIsNotAMissingPIN() throws {
        let desk = try desk(.always)
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        }
        #expect(desk.card.triesLeft == 3)
        #expect(desk.pinsSent == 1)
    }

    @Test func withAPINFromBeforeTheCardIsAskedWhichOfTheTwoIsMissing() throws {
        let desk = try desk(.always)
        try desk.verify()
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(desk.statusQueries == 1)
        #expect(desk.pinsSent == 1)
    }

    @Test func aKeyWithoutPINThatIsNotTouchedSaysSo() throws {
        let desk = try desk(.always, pin: .never)
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(desk.count(0x20) == 0)
    }

    @Test func a6985SaysSoToo() throws {
        let desk = try Desk(IssuedCard(profile: .strictClone, touchPolicies: [0x9A: .always]))
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        }
    }
}
