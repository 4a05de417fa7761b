import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import VirtualCard

@Suite struct EncryptionAlgorithmTests {
    private static let message = Array("a message to encrypt".utf8)

    private static func keys(_ algorithm: CardAlgorithm) throws -> [any KeychainKey] {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: algorithm, slots: [.keyManagement]))
        let pair = try TestCard(algorithm: algorithm).key(.keyManagement)
        return [try desk.key("9D"), SoftwareKey(pair.privateKey)]
            + (algorithm == .rsa2048 ? [DoesRawRSAOnly(pair.privateKey)] : [])
    }

    @Test func everyRSAEncryptionOpensWhereverTheKeyIs() throws {
        let algorithms =
            [KeyAlgorithm.encryption(.pkcs1)] + DigestAlgorithm.allCases.map { .encryption(.oaep($0)) }
            + DigestAlgorithm.allCases.map { .rsaHybrid($0) }
        for key in try Self.keys(.rsa2048) {
            for algorithm in algorithms {
                let ciphertext = try key.encrypt(Self.message.span, using: algorithm)
                #expect(try key.decrypted(ciphertext, algorithm) == Self.message, "\(algorithm)")
            }
        }
    }

    // Keychain semantics 4.5: k − 11, k − 42, k − 58, k − 66, k − 98, k − 130.
    @Test func plaintextsAreAsLongAsTheirPaddingLets() throws {
        let key = SoftwareKey(try TestKey.named("anna", .rsa(bits: 2048)).privateKey)
        let limits: [(KeyAlgorithm, Int)] = [
            (.encryption(.pkcs1), 11), (.encryption(.oaep(.sha1)), 42), (.encryption(.oaep(.sha224)), 58),
            (.encryption(.oaep(.sha256)), 66), (.encryption(.oaep(.sha384)), 98), (.encryption(.oaep(.sha512)), 130),
        ]
        for (algorithm, overhead) in limits {
            let longest = [UInt8](repeating: 3, count: 256 - overhead)
            let publicKey = try PublicKey(spki: key.publicKey)
            #expect(publicKey.maximumPlaintextLength(algorithm) == longest.count)
            #expect(try key.decrypted(key.encrypt(longest.span, using: algorithm), algorithm) == longest)
            #expect(throws: KeychainError(.param)) { try key.encrypt((longest + [1]).span, using: algorithm) }
        }
        let block = [0] + [UInt8](repeating: 3, count: 255)
        #expect(try key.decrypted(key.encrypt(block.span, using: .encryption(.raw)), .encryption(.raw)) == block)
        #expect(throws: KeychainError(.param)) { try key.encrypt((block + [1]).span, using: .encryption(.raw)) }
        for algorithm in [KeyAlgorithm.encryption(.pkcs1), .encryption(.oaep(.sha256))] {
            #expect(throws: KeychainError(.param)) { try key.decrypted([1, 2, 3], algorithm) }
        }
    }

    @Test func aHybridTakesAnyLengthAndNoticesEveryChange() throws {
        for (kind, algorithm) in [
            (KeyKind.rsa(bits: 2048), KeyAlgorithm.rsaHybrid(.sha256)),
            (.ecP256, .ecies(.standard, .sha256, .zero)),
        ] {
            let key = SoftwareKey(try TestKey.named("anna", kind).privateKey)
            for count in [0, 1, 16, 10_000] {
                let plaintext = [UInt8](repeating: 5, count: count)
                #expect(try key.decrypted(key.encrypt(plaintext.span, using: algorithm), algorithm) == plaintext)
            }
            let ciphertext = try key.encrypt(Self.message.span, using: algorithm)
            for index in stride(from: 0, to: ciphertext.count, by: 7) {
                var changed = ciphertext
                changed[index] ^= 1
                #expect(throws: KeychainError.self) { try key.decrypted(changed, algorithm) }
            }
            for count in [0, 1, 64, 80, ciphertext.count - 1] {
                #expect(throws: KeychainError.self) { try key.decrypted(Array(ciphertext.prefix(count)), algorithm) }
            }
        }
    }

    // An RSA hybrid is OAEP of an AES key, then AES-GCM with a zero vector and the public key as associated data.
    @Test(arguments: [(2048, 16), (4096, 32)]) func theRSAHybridIsApples(bits: Int, keyLength: Int) throws {
        let pair = try TestKey.named("anna", .rsa(bits: bits)).privateKey
        let ciphertext = try SoftwareKey(pair).encrypt(Self.message.span, using: .rsaHybrid(.sha1))
        let sessionKey = try pair.decrypt(Array(ciphertext.prefix(bits / 8)), using: .oaep(.sha1))
        #expect(sessionKey.count == keyLength)
        let plaintext = try AESGCM.open(
            Array(ciphertext.dropFirst(bits / 8)), key: sessionKey, nonce: [UInt8](repeating: 0, count: 16),
            authenticating: pair.publicKey.rawRepresentation)
        #expect(plaintext.copiedBytes == Self.message)
    }

    @Test(arguments: [CardAlgorithm.p256, .p384]) func eciesOpensWhereverTheKeyIs(algorithm: CardAlgorithm) throws {
        for key in try Self.keys(algorithm) {
            for ecies in KeyAlgorithm.all where ecies.rawValue.contains("ECIES") {
                let ciphertext = try key.encrypt(Self.message.span, using: ecies, sharedInfo: [1, 2])
                #expect(try key.decrypted(ciphertext, ecies, sharedInfo: [1, 2]) == Self.message, "\(ecies)")
                #expect(throws: KeychainError(.decode)) { try key.decrypted(ciphertext, ecies) }
            }
        }
    }

    /// Ciphertexts that `SecKeyCreateEncryptedData` made on macOS; the data is from the tests of github.com/jedda/ECIES.
    static let fromApple: [(plaintext: String, algorithm: String, key: String, ciphertext: String)] = [
        (
            "P256-SHA224-0IV", "SHA224:AESGCM",
            "MHcCAQEEIJyzfcyptwjYkgdcFhfJlztLPmcfyzyCFs7NoQuCbAAhoAoGCCqGSM49AwEHoUQDQgAE7WttwmG8qki5bU2utMaugBWbWD9J"
                + "x/UPzgnGxthgHteyqPGofBjBwPZTbxj+lrIGNyHRdbOkSusD7051WG8nmg==",
            "BPIMheQOrz0l9wEjcOHQEQ16D9Go8Sm8bEM3LAgMEHUf/eHy3u0oVlfh2po9ocPCuKG2bQ28wlsQ0N6SNJ3O3auS/QeoUogLVcJ3+R1O"
                + "OeixEJyqeUkn6zB8LcqoZ+Y2"
        ),
        (
            "P256-SHA256-VIV", "SHA256:AESGCM-KDFIV",
            "MHcCAQEEIHGhxnpu3kG/nW5ozDZJ+TTFQvL6MynCcQWD6jHV4p0UoAoGCCqGSM49AwEHoUQDQgAEzgFYw3Rqc72IIYHV7JH6M245n/nL"
                + "nxyre1A7sc5nOt31ZyfJQLXGs4dY0cggne28ueXHID5lKz1JNChY49NHYg==",
            "BI6sBCGyf916GQSV3DHOvmFxOmzbV9pq08wcOdKaepP2/Qtepj9M71dYkzXf6OqIstDyyVIxfnAMfUpxZzoCHDbalYRzzwhqHwg7K6RN"
                + "l1F29PVdLNtJH498yJSfloW/"
        ),
        (
            "P384-SHA224-0IV", "SHA224:AESGCM",
            "MIGkAgEBBDAI18KI/52miF1/gGpYOOnvkwjXwGz/tOedlcbWhMTEfiAaAHSVTSzxd9Pyun5cRoCgBwYFK4EEACKhZANiAAR498VhIR9t"
                + "TgyOUFdzJEQyqOU8mCs4mKPHzTcEUgfpX1J85ZOw+oFARLddhHQ7JvmgZfYQNC6CrzoL3H5ockG54Zkq2RV6kmn5mSonQGjD4lJ3"
                + "ic0B2Jpb4DQHWDbcstA=",
            "BHwqDkIP8+8hwXDlJ3W/Uw4oqVHhpg3Dbj/lx2ukwjwL3xSFNgGpNRhXUIv0Fs2qGxUXGKMGNIa+8/ebvHNuJqjV0pAR52HZ79dQWpB/"
                + "esIy8/w514TSLSmp6fIk4Yt7gCy+mBKN/bC9nIwMCjiPSdpuhCt+Jc+KZZjgJ7BLUT4="
        ),
        (
            "P521-SHA512-0IV", "SHA512:AESGCM",
            "MIHcAgEBBEIAqKpwdZ9JdC3JdVpM7gj1Bgkep3LNTkYWqEYqwNe5w7oyzDh1yU0LVZzefyZNdaagU6DGNdZ+5u9cHqnh9GrQ5gWgBwYF"
                + "K4EEACOhgYkDgYYABAD+MDxfbvbe9ZRZcZgWyDBbpf3JxHii0iScjxNqNWClJWlehHfX8niGE6VNktRQ3lMIwDSvUy3Esiex3gu8"
                + "RHZnwAGzPjwLm1/w2YbOfp2TCNTL8m6eYUfLU0SNW7B61koL+Sk50yTHoseP7+lmM2t8x6uKsyLdo+XCIevpW8IEh0s5wg==",
            "BABqJoMa89aD0rRkZ+WrmWTeqUfcr3uvLmyk7KlbWPm45m0ptDeqsaxFtqeM0VR6IoBMQcvcCcW+hzlLPr7i15LJlADzKYe7al7Vp10f"
                + "JBnnhM2K7Z12o/VtOynEEt+ed5IkP9BiopN/3swl79caHQqXxX+SWQijwosMh0rGFJZPjsPFcPpe8Aj9CiJ3y0hRH1D4fp+qtpx9"
                + "LOBLyuXvRwdFi0Y="
        ),
    ]

    @Test(arguments: fromApple)
    func eciesIsApples(row: (plaintext: String, algorithm: String, key: String, ciphertext: String)) throws {
        let der = try #require(Data(base64Encoded: row.key))
        let ciphertext = Array(try #require(Data(base64Encoded: row.ciphertext)))
        let key = SoftwareKey(try PrivateKey(encoded: Secret(copying: Array(der).span)))
        let name = "algid:encrypt:ECIES:ECDHC:KDFX963:\(row.algorithm)"
        let algorithm = try #require(KeyAlgorithm(rawValue: name))
        #expect(try key.decrypted(ciphertext, algorithm) == Array(row.plaintext.utf8))
    }
}

@Suite struct KeyExchangeAlgorithmTests {
    @Test(arguments: [CardAlgorithm.p256, .p384, .x25519]) func bothSidesComeToTheSameSecret(algorithm: CardAlgorithm)
        throws
    {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: algorithm, slots: [.keyManagement]))
        let (card, peer) = (try desk.key("9D"), SoftwareKey(try PrivateKey.generate(algorithm.kind)))
        let (mine, theirs) = (try PublicKey(spki: card.publicKey), try PublicKey(spki: peer.publicKey))
        for exchange in KeyAlgorithm.all where exchange.rawValue.contains("keyexchange") {
            let isDerived = exchange.rawValue.contains("KDF")
            let parameters = KeyExchangeParameters(requestedSize: isDerived ? 77 : nil, sharedInfo: [1, 2, 3])
            let secret = try card.exchanged(theirs.rawRepresentation, exchange, parameters)
            #expect(secret == (try peer.exchanged(mine.rawRepresentation, exchange, parameters)), "\(exchange)")
            #expect(secret.count == (isDerived ? 77 : mine.blockLength))
        }
    }

    @Test func aDerivationWantsASize() throws {
        let key = SoftwareKey(try TestKey.named("anna").privateKey)
        let peer = try TestKey.named("ben").publicKey.rawRepresentation
        for size in [nil, 0, -1, Int.max] {
            #expect(throws: KeychainError(.param)) {
                try key.exchanged(
                    peer, .keyExchange(.standard, .sha256), KeyExchangeParameters(requestedSize: size))
            }
        }
    }

    @Test func aPeerOfAnotherCurveIsRefused() throws {
        let key = SoftwareKey(try TestKey.named("anna").privateKey)
        let p384 = try TestKey.named("ben", .ecP384).publicKey.rawRepresentation
        for peer in [[], [4], p384, [4] + [UInt8](repeating: 1, count: 64)] {
            #expect(throws: KeychainError.self) { try key.exchanged(peer, .keyExchange(.standard, nil)) }
        }
        let error = #expect(throws: KeychainError(.param)) { try key.exchanged(p384, .keyExchange(.standard, nil)) }
        #expect(try #require(error).reason.contains("P-384"))
    }
}
