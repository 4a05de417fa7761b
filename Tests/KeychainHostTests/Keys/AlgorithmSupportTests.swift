import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// `isSupported` answers without doing anything. Keychain semantics 4.5.
@Suite struct AlgorithmSupportTests {
    private static let rsa = KeyKind.rsa(bits: 2048)

    private static func isExpected(_ name: String, _ kind: KeyKind) -> Bool {
        if KeyAlgorithmTests.ownNames.contains(name) { return false }
        return switch kind {
        case .rsa: name.contains(":RSA:")
        case .ed25519: name.contains("EdDSA")
        case .x25519: name.contains(":keyexchange:")
        default: !name.contains(":RSA:") && !name.contains("EdDSA")
        }
    }

    private static func operations(_ name: String) -> Set<KeyOperation> {
        if name.contains(":sign:") { return [.sign, .verify] }
        return name.contains(":keyexchange:") ? [.keyExchange] : [.encrypt, .decrypt]
    }

    @Test(arguments: [rsa, .ecP256, .ecP384, .ecP521, .ed25519, .x25519])
    func eachKindOfKeySupportsWhatIsItsOwnAndNothingElse(kind: KeyKind) throws {
        let key = SoftwareKey(try TestKey.named("anna", kind).privateKey)
        for algorithm in KeyAlgorithm.all {
            for operation in KeyOperation.allCases {
                let expected =
                    Self.isExpected(algorithm.rawValue, kind)
                    && Self.operations(algorithm.rawValue).contains(operation)
                #expect(key.isSupported(algorithm, for: operation) == expected, "\(algorithm) \(operation)")
            }
        }
    }

    @Test func aKeyThatDoesOnlyRawRSAServesEverySignatureAndDecryption() throws {
        let key = DoesRawRSAOnly(try TestKey.named("anna", Self.rsa).privateKey)
        for algorithm in KeyAlgorithm.all where algorithm.rawValue.contains("RSA:") {
            for operation in Self.operations(algorithm.rawValue) {
                #expect(key.isSupported(algorithm, for: operation), "\(algorithm) \(operation)")
            }
        }
        #expect(key.uses.isEmpty)
    }

    @Test func aKeyTooSmallForAPaddingDoesNotSupportIt() throws {
        let small = SoftwareKey(try PrivateKey.generate(.rsa(bits: 1024)))
        #expect(small.isSupported(.rsaSignatureMessagePSS(.sha384), for: .sign))
        #expect(!small.isSupported(.rsaSignatureMessagePSS(.sha512), for: .sign))
        #expect(!small.isSupported(.rsaEncryptionOAEP(.sha512), for: .encrypt))
        #expect(small.isSupported(.rsaSignatureMessagePKCS1v15(.sha512), for: .sign))
        let tiny = SoftwareKey(try PrivateKey.generate(.rsa(bits: 512)))
        #expect(tiny.isSupported(.rsaSignatureMessagePKCS1v15(.sha256), for: .sign))
        #expect(!tiny.isSupported(.rsaSignatureMessagePKCS1v15(.sha384), for: .verify))
    }

    @Test func onACardItCostsNoCommandAndFollowsWhatTheDriverSays() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: .rsa2048))
        let key = try desk.key("9C")
        desk.reader.clearLog()
        for algorithm in KeyAlgorithm.all {
            let isRSA = algorithm.rawValue.contains(":RSA:")
            let operations = Self.operations(algorithm.rawValue)
            for operation in operations { #expect(key.isSupported(algorithm, for: operation) == isRSA) }
        }
        #expect(desk.reader.log.isEmpty)
    }

    @Test func aLocalKeyDoesWhatItsAttributesAllow() throws {
        let local = try TestKeychain()
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine", .canSign: false])
        let key = try #require(try local.keychain.keys(.name("mine")).first)
        #expect(!key.isSupported(.ecdsaSignatureMessageX962(.sha256), for: .sign))
        #expect(key.isSupported(.ecdsaSignatureMessageX962(.sha256), for: .verify))
        #expect(key.isSupported(.ecdhKeyExchangeStandard, for: .keyExchange))
        #expect(throws: KeychainError(.param)) {
            try key.sign([1], using: .ecdsaSignatureMessageX962(.sha256), use: "sign", authentication: .nobody)
        }
    }

    @Test func whatIsNotSupportedIsRefusedBeforeAnythingHappens() throws {
        let rsa = DoesRawRSAOnly(try TestKey.named("anna", Self.rsa).privateKey)
        let context = AuthenticationContext.nobody
        let rows: [() throws -> Void] = [
            { _ = try rsa.sign([1], using: .ecdsaSignatureMessageX962(.sha256), use: "x", authentication: context) },
            { _ = try rsa.sign([1], using: .rsaEncryptionPKCS1, use: "x", authentication: context) },
            { _ = try rsa.decrypt([1], using: .rsaSignatureRaw, use: "x", authentication: context) },
            { _ = try rsa.keyExchange(with: [4], using: .ecdhKeyExchangeStandard, use: "x", authentication: context) },
            { _ = try rsa.verify([1], of: [1], using: .eddsaSignatureMessageCurve25519SHA512) },
            { _ = try rsa.encrypt([1].span, using: .eciesEncryptionStandardX963AESGCM(.sha256)) },
            { _ = try rsa.encrypt([1].span, using: .rsaEncryptionPKCS1, sharedInfo: [1]) },
            {
                _ = try rsa.decrypt(
                    [1], using: .rsaEncryptionPKCS1, sharedInfo: [1], use: "x", authentication: context)
            },
        ]
        for row in rows { #expect(throws: KeychainError(.param)) { try row() } }
        #expect(rsa.uses.isEmpty)
    }
}
