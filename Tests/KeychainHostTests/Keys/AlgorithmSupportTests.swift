import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

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
        #expect(small.isSupported(.messageSignature(.rsaPSS(.sha384)), for: .sign))
        #expect(!small.isSupported(.messageSignature(.rsaPSS(.sha512)), for: .sign))
        #expect(!small.isSupported(.encryption(.oaep(.sha512)), for: .encrypt))
        #expect(small.isSupported(.messageSignature(.rsaPKCS1(.sha512)), for: .sign))
        let tiny = SoftwareKey(try PrivateKey.generate(.rsa(bits: 512)))
        #expect(tiny.isSupported(.messageSignature(.rsaPKCS1(.sha256)), for: .sign))
        #expect(!tiny.isSupported(.messageSignature(.rsaPKCS1(.sha384)), for: .verify))
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
        #expect(!key.isSupported(.messageSignature(.ecdsa(.sha256)), for: .sign))
        #expect(key.isSupported(.messageSignature(.ecdsa(.sha256)), for: .verify))
        #expect(key.isSupported(.keyExchange(.standard, nil), for: .keyExchange))
        #expect(throws: KeychainError(.param)) {
            try key.sign([1], using: .messageSignature(.ecdsa(.sha256)), use: "sign", authentication: .nobody)
        }
    }

    @Test func whatIsNotSupportedIsRefusedBeforeAnythingHappens() throws {
        let rsa = DoesRawRSAOnly(try TestKey.named("anna", Self.rsa).privateKey)
        let context = AuthenticationContext.nobody
        let rows: [() throws -> Void] = [
            { _ = try rsa.sign([1], using: .messageSignature(.ecdsa(.sha256)), use: "x", authentication: context) },
            { _ = try rsa.sign([1], using: .encryption(.pkcs1), use: "x", authentication: context) },
            { _ = try rsa.decrypt([1], using: .signature(.rsaRaw), use: "x", authentication: context) },
            {
                _ = try rsa.keyExchange(
                    with: [4], using: .keyExchange(.standard, nil), use: "x", authentication: context)
            },
            { _ = try rsa.verify([1], of: [1], using: .signature(.ed25519)) },
            { _ = try rsa.encrypt([1].span, using: .ecies(.standard, .sha256, .zero)) },
            { _ = try rsa.encrypt([1].span, using: .encryption(.pkcs1), sharedInfo: [1]) },
            {
                _ = try rsa.decrypt(
                    [1], using: .encryption(.pkcs1), sharedInfo: [1], use: "x", authentication: context)
            },
        ]
        for row in rows { #expect(throws: KeychainError(.param)) { try row() } }
        #expect(rsa.uses.isEmpty)
    }
}
