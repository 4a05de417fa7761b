import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PIVDriver

/// Unfit arguments are an error before any command, and before a PIN is sent.
@Suite struct UnfitArgumentTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let algorithm: CardAlgorithm
        let action: TokenOperation.Action

        init(_ name: String, _ algorithm: CardAlgorithm, _ action: TokenOperation.Action) {
            testDescription = name
            self.algorithm = algorithm
            self.action = action
        }
    }

    private static func bytes(_ count: Int, _ value: UInt8 = 1) -> [UInt8] { Array(repeating: value, count: count) }

    static let cases: [Case] = [
        Case("digest of another length", .rsa2048, .sign(.rsaPKCS1(.sha256), bytes(20))),
        Case("no digest", .rsa2048, .sign(.rsaPKCS1(.sha256), [])),
        Case("PSS digest of another length", .rsa2048, .sign(.rsaPSS(.sha256, saltLength: 32), bytes(31))),
        Case("PSS salt longer than the key", .rsa2048, .sign(.rsaPSS(.sha256, saltLength: 1000), bytes(32))),
        Case("PSS salt that just does not fit", .rsa2048, .sign(.rsaPSS(.sha256, saltLength: 223), bytes(32))),
        Case("PSS salt of a negative length", .rsa2048, .sign(.rsaPSS(.sha256, saltLength: -1), bytes(32))),
        Case("PSS in a key too small", .rsa1024, .sign(.rsaPSS(.sha512, saltLength: 64), bytes(64))),
        Case("input too long for its padding", .rsa2048, .sign(.rsaPKCS1(nil), bytes(246))),
        Case("block too short", .rsa2048, .sign(.rsaRaw, bytes(255))),
        Case("block too long", .rsa2048, .sign(.rsaRaw, bytes(257))),
        Case("block not smaller than the modulus", .rsa2048, .sign(.rsaRaw, bytes(256, 0xFF))),
        Case("ciphertext too short", .rsa2048, .decrypt(.pkcs1, bytes(255))),
        Case("ciphertext not smaller than the modulus", .rsa2048, .decrypt(.oaep(.sha256), bytes(256, 0xFF))),
        Case("no ciphertext", .rsa2048, .decrypt(.raw, [])),
        Case("ECDSA with an RSA key", .rsa2048, .sign(.ecdsa(nil), bytes(32))),
        Case("Ed25519 with an RSA key", .rsa2048, .sign(.ed25519, bytes(32))),
        Case("agreement with an RSA key", .rsa2048, .agree(bytes(65))),
        Case("ECDSA of nothing", .p256, .sign(.ecdsa(nil), [])),
        Case("RSA with an EC key", .p256, .sign(.rsaPKCS1(.sha256), bytes(32))),
        Case("decryption with an EC key", .p256, .decrypt(.pkcs1, bytes(32))),
        Case("point of another curve", .p256, .agree([0x04] + bytes(96))),
        Case("point that is not on the curve", .p256, .agree([0x04] + bytes(64))),
        Case("compressed point", .p256, .agree([0x02] + bytes(32))),
        Case("point at infinity", .p256, .agree([0x00])),
        Case("X25519 key of another length", .x25519, .agree(bytes(31))),
        Case("signature with an X25519 key", .x25519, .sign(.ed25519, bytes(32))),
        Case("agreement with an Ed25519 key", .ed25519, .agree(bytes(32))),
        Case("message too long", .ed25519, .sign(.ed25519, bytes(65_001))),
    ]

    @Test(arguments: cases)
    func nothingIsSent(case: Case) throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9A: `case`.algorithm]))
        let error = #expect(throws: TokenError.self) { try desk.perform("9A", `case`.action, pin: "123456") }
        #expect(error?.code == .invalidArgument || error?.code == .unsupported)
        #expect(desk.count(0x87) == 0)
        #expect(desk.count(0x20) == 0)
        #expect(desk.card.triesLeft == 3)
    }

    @Test(arguments: ["9B", "04", "81", "", "PIV Authentication"])
    func aNameThatIsNoKeyIsNotFound(name: String) throws {
        let desk = try Desk()
        #expect(throws: TokenError(.notFound, "")) { try desk.perform(name, .sign(.ecdsa(nil), [1]), pin: "123456") }
        #expect(desk.pinsSent == 0)
    }

    @Test func anEmptySlotIsNotFound() throws {
        let desk = try Desk()
        #expect(throws: TokenError(.notFound, "")) { try desk.perform("82", .sign(.ecdsa(nil), [1]), pin: "123456") }
        #expect(desk.pinsSent == 0)
    }

    @Test func theAttestationKeySignsNothingElse() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.perform("F9", .sign(.ecdsa(nil), [1]), pin: "123456")
        }
        #expect(desk.pinsSent == 0)
    }
}

@Suite struct CardAnswerTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    /// Signs with a P-256 key on a card that gives this answer to GENERAL AUTHENTICATE.
    private func sign(answer: String) throws -> TokenError? {
        let card = SmallCard()
        try card.provision(0x9E, tag: "5FC101", PrivateKey.generate(.ecP256))
        card.answers.append(("0087", answer))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let operation = TokenOperation(key: TokenObjectID("9E"), action: .sign(.ecdsa(nil), digest))
        return #expect(throws: TokenError.self) { _ = try token.perform(operation, &transaction).count }
    }

    @Test(arguments: [
        "9000", "7C009000", "7C0282009000", "7C0482029000", "7C0382010000009000", "7D0382010A9000",
        "7C08820630040201010201019000", "7C0A8208300602010102010100009000", "7C80820A9000",
    ])
    func whatIsNoSignatureIsNotPassedOn(answer: String) throws {
        #expect(try sign(answer: answer)?.code == .malformed)
    }

    @Test(
        arguments: [
            ("6A80", .unsupported), ("6A88", .notFound), ("6985", .conditionsNotSatisfied), ("6F00", .malformed),
            ("6581", .storage), ("6D00", .unsupported),
        ] as [(String, TokenError.Code)])
    func aFailureKeepsItsStatus(answer: String, code: TokenError.Code) throws {
        let error = try sign(answer: answer)
        #expect(error?.code == code)
        #expect(error?.status.map { Hex.encode([$0.sw1, $0.sw2]) } == answer)
    }

    /// A signature with a fault in it can give an RSA key away (Boneh, DeMillo, Lipton).
    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256])
    func aWrongSignatureIsNotPassedOn(kind: KeyKind) throws {
        let card = SmallCard()
        try card.provision(0x9E, tag: "5FC101", PrivateKey.generate(kind))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let isRSA = kind != .ecP256
        let operation = TokenOperation(
            key: TokenObjectID("9E"), action: .sign(isRSA ? .rsaPKCS1(.sha256) : .ecdsa(nil), digest))
        if isRSA {
            _ = try token.perform(operation, &transaction).count
        } else {
            // With an EC key, a signature right after another is not checked.
            _ = try token.inventory(.object(TokenObjectID("9E")), &transaction)
        }
        // The card now has another key than its certificate says.
        card.keys[0x9E] = try PrivateKey.generate(kind)
        #expect(throws: TokenError(.malformed, "")) { _ = try token.perform(operation, &transaction).count }
        // The slot is read anew, as the certificate may have changed with the key.
        try card.provision(0x9E, tag: "5FC101", try #require(card.keys[0x9E]))
        _ = try token.perform(operation, &transaction).count
    }

    @Test func theResponseIsTakenOutOfItsTemplate() throws {
        for (hex, expected) in [
            ("7C0382010A", "0A"), ("7C810382010A", "0A"), ("7C0482810155", "55"),
            ("7C8200058282000166", "66"),
        ] {
            var bytes = [UInt8](hex: hex)
            let response = try AuthenticationResponse.parse(Secret(consuming: &bytes))
            #expect(Hex.encode(Array(copying: response.bytes)) == expected)
        }
    }
}
