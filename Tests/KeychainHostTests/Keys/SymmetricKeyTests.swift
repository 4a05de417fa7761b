import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Operations of symmetric keys, in a keychain and in memory. Keychain semantics 4.5.
@Suite struct SymmetricKeyTests {
    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    /// The key in a keychain, and the same in memory.
    private func keys(_ hex: String, _ type: KeyType = .aes, _ attributes: Attributes = [:]) throws -> [SymmetricKey] {
        let bytes = try bytes(hex)
        return [
            try test.add(symmetric: bytes, type, attributes),
            try SymmetricKey(Secret(copying: bytes.span), type: type, attributes),
        ]
    }

    // MARK: - AES-GCM

    /// Test cases 2, 10 and 16 of McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, which SP 800-38D cites.
    static let gcm: [(key: String, nonce: String, plaintext: String, associated: String, sealed: String)] = [
        (
            "00000000000000000000000000000000", "000000000000000000000000", "00000000000000000000000000000000", "",
            "0388DACE60B6A392F328C2B971B2FE78" + "AB6E47D42CEC13BDF53A67B21257BDDF"
        ),
        (
            "FEFFE9928665731C6D6A8F9467308308FEFFE9928665731C", "CAFEBABEFACEDBADDECAF888", plaintext, associated,
            "3980CA0B3C00E841EB06FAC4872A2757859E1CEAA6EFD984628593B40CA1E19C"
                + "7D773D00C144C525AC619D18C84A3F4718E2448B2FE324D9CCDA2710" + "2519498E80F1478F37BA55BD6D27618C"
        ),
        (
            "FEFFE9928665731C6D6A8F9467308308FEFFE9928665731C6D6A8F9467308308", "CAFEBABEFACEDBADDECAF888", plaintext,
            associated,
            "522DC1F099567D07F47F37A32A84427D643A8CDCBFE5C0C97598A2BD2555D1AA"
                + "8CB08E48590DBB3DA7B08B1056828838C5F61E6393BA7A0ABCC9F662" + "76FC6ECE0F4E1768CDDF8853BB2D551B"
        ),
    ]
    private static let plaintext =
        "D9313225F88406E5A55909C5AFF5269A86A7A9531534F7DA2E4C303D8A318A72"
        + "1C3C0C95956809532FCF0E2449A6B525B16AEDF5AA0DE657BA637B39"
    private static let associated = "FEEDFACEDEADBEEFFEEDFACEDEADBEEFABADDAD2"

    @Test(arguments: gcm)
    func aMessageIsVectorCiphertextAndTag(
        key: String, nonce: String, plaintext: String, associated: String, sealed: String
    ) throws {
        for key in try keys(key) {
            let opened = try key.decrypted(bytes(nonce + sealed), .aesGCM, bytes(associated))
            #expect(opened == (try bytes(plaintext)))
        }
    }

    @Test func everyMessageHasANewVectorAndOpensAgain() throws {
        let bytes = try bytes(Self.gcm[0].key)
        for key in try keys(Self.gcm[0].key) {
            let messages = try (0..<4).map { _ in try key.encrypted([1, 2, 3], .aesGCM, [4]) }
            #expect(Set(messages.map { $0.prefix(12) }).count == 4)
            for message in messages {
                #expect(message.count == 12 + 3 + 16)
                let nonce = Array(message.prefix(12))
                let plaintext: [UInt8] = [1, 2, 3]
                let sealed = try AESGCM.seal(
                    plaintext.span, key: Secret(copying: bytes.span), nonce: nonce, authenticating: [4])
                #expect(nonce + sealed == message)
                #expect(try key.decrypted(message, .aesGCM, [4]) == [1, 2, 3])
            }
            #expect(try key.decrypted(key.encrypted([], .aesGCM), .aesGCM) == [])
        }
    }

    @Test func whatWasTamperedWithDoesNotOpen() throws {
        let key = try test.add(symmetric: try bytes(Self.gcm[2].key))
        let message = try key.encrypted(Array("attack at dawn".utf8), .aesGCM, [7])
        for index in message.indices {
            var other = message
            other[index] ^= 1
            expect(.decode) { try key.decrypted(other, .aesGCM, [7]) }
        }
        for count in 28..<message.count {
            expect(.decode) { try key.decrypted(Array(message.prefix(count)), .aesGCM, [7]) }
        }
        for other in [[], [8], [7, 7]] as [[UInt8]] { expect(.decode) { try key.decrypted(message, .aesGCM, other) } }
        let another = try test.add(symmetric: try bytes(Self.gcm[1].key))
        expect(.decode) { try another.decrypted(message, .aesGCM, [7]) }
    }

    // MARK: - Key wrap

    /// RFC 3394 §4.1, §4.2, §4.3 and §4.6.
    static let wraps: [(wrappingKey: String, key: String, wrapped: String)] = [
        (
            "000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF",
            "1FA68B0A8112B447AEF34BD8FB5A7B829D3E862371D2CFE5"
        ),
        (
            "000102030405060708090A0B0C0D0E0F1011121314151617", "00112233445566778899AABBCCDDEEFF",
            "96778B25AE6CA435F92B5B97C050AED2468AB8A17AD84E5D"
        ),
        (
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F", "00112233445566778899AABBCCDDEEFF",
            "64E8C3F9CE0F5BA263E9777905818A2A93C8191E7D6E8AE7"
        ),
        (
            "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
            "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F",
            "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21"
        ),
    ]

    @Test(arguments: wraps)
    func keysAreWrappedAsInTheRFC(wrappingKey: String, key: String, wrapped: String) throws {
        for wrapping in try keys(wrappingKey) {
            #expect(try wrapping.encrypted(bytes(key), .aesKeyWrap) == (try bytes(wrapped)))
            #expect(try wrapping.decrypted(bytes(wrapped), .aesKeyWrap) == (try bytes(key)))
            var other = try bytes(wrapped)
            other[3] ^= 1
            expect(.decode) { try wrapping.decrypted(other, .aesKeyWrap) }
        }
    }

    // MARK: - HMAC

    private static let rfc4231 = (
        message: "4869205468657265", key: String(repeating: "0B", count: 20),
        longKey: String(repeating: "AA", count: 131),
        longMessage: "Test Using Larger Than Block-Size Key - Hash Key First"
    )

    /// RFC 2202 §3 and RFC 4231 §4.2, test case 1.
    static let codes: [(DigestAlgorithm, String)] = [
        (.sha1, "B617318655057264E28BC0B6FB378C8EF146BE00"),
        (.sha224, "896FB1128ABBDF196832107CD49DF33F47B4B1169912BA4F53684B22"),
        (.sha256, "B0344C61D8DB38535CA8AFCEAF0BF12B881DC200C9833DA726E9376C2E32CFF7"),
        (
            .sha384,
            "AFD03944D84895626B0825F4AB46907F15F9DADBE4101EC682AA034C7CEBC59CFAEA9EA9076EDE7F4AF152E8B2FA9CB6"
        ),
        (
            .sha512,
            "87AA7CDEA5EF619D4FF0B4241A1D6CB02379F4E2CE4EC2787AD0B30545E17CDE"
                + "DAA833B7D6B8A702038B274EAEA3F4E4BE9D914EEB61F1702E696C203A126854"
        ),
    ]

    @Test(arguments: codes) func codesAreThoseOfTheRFCs(digest: DigestAlgorithm, code: String) throws {
        for key in try keys(Self.rfc4231.key, .hmac) {
            let (message, code) = (try bytes(Self.rfc4231.message), try bytes(code))
            #expect(try key.signed(message, digest) == code)
            #expect(try key.verified(code, message, digest))
        }
    }

    /// RFC 4231 §4.7, test case 6.
    @Test func aKeyMayBeLongerThanABlock() throws {
        let message = Array(Self.rfc4231.longMessage.utf8)
        let code = "60E431591EE0B67F0D8A26AACBF5B77F8E0BC6213728C5140546040F0EE37F54"
        for key in try keys(Self.rfc4231.longKey, .hmac) {
            #expect(try key.signed(message, .sha256) == (try bytes(code)))
        }
    }

    @Test func aCodeIsThatOfOneMessageAndOneHashFunction() throws {
        let key = try test.add(symmetric: try bytes(Self.rfc4231.key), .hmac)
        let code = try key.signed([1], .sha256)
        for index in code.indices {
            var other = code
            other[index] ^= 0x80
            #expect(try !key.verified(other, [1], .sha256))
        }
        #expect(try !key.verified(code, [2], .sha256))
        #expect(try !key.verified(code, [1], .sha512))
        for other in [[], Array(code.dropLast()), code + [0]] { #expect(try !key.verified(other, [1], .sha256)) }
    }

    @Test(arguments: DigestAlgorithm.allCases) func opensslMakesTheSameCodes(digest: DigestAlgorithm) throws {
        let message = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        for count in [14, 32, 200] {
            let key = try SymmetricKey.generate(.hmac, bits: count * 8)
            let hex = Hex.encode(try key.material(use: "use it", authentication: .nobody).copiedBytes)
            let options = ["-macopt", "hexkey:\(hex)", "-binary"]
            let result = try Program.run(
                ["openssl", "dgst", "-\(digest.rawValue)", "-mac", "HMAC"] + options, input: message)
            #expect(result.status == 0, "\(result)")
            #expect(try key.signed(message, digest) == result.output)
        }
    }

    // MARK: - What is refused

    @Test func aKeyDoesWhatIsOfItsTypeAndNothingElse() throws {
        let expected: [KeyType: [KeyOperation: Set<KeyAlgorithm>]] = [
            .aes: [.encrypt: [.aesGCM, .aesKeyWrap], .decrypt: [.aesGCM, .aesKeyWrap]],
            .hmac: [
                .sign: Set(DigestAlgorithm.allCases.map { .hmac($0) }),
                .verify: Set(DigestAlgorithm.allCases.map { .hmac($0) }),
            ],
        ]
        for (type, operations) in expected {
            for key in try keys(Self.gcm[2].key, type) {
                for operation in KeyOperation.allCases {
                    let supported = KeyAlgorithm.all.filter { key.isSupported($0, for: operation) }
                    #expect(Set(supported) == operations[operation] ?? [], "\(type.rawValue) \(operation)")
                }
            }
        }
    }

    @Test func whatAKeyCannotDoIsRefusedAndNobodyIsAsked() throws {
        let attributes: Attributes = [.accessControl: .data(try AccessControl("ak", .userPresence).encoded())]
        let aes = try test.add(symmetric: try bytes(Self.gcm[2].key), .aes, attributes)
        let code = try test.add(symmetric: try bytes(Self.gcm[2].key), .hmac, attributes)
        test.keychain.lock()
        let person = TypesInTurn()
        let context = AuthenticationContext(prompter: person)
        for algorithm in [KeyAlgorithm.encryption(.pkcs1), .hmac(.sha1), .keyExchange(.standard, nil)] {
            expect(.param, key: "algorithm") { try aes.encrypted([1], algorithm, context: context) }
            expect(.param, key: "algorithm") { try aes.decrypted([1], algorithm, context: context) }
        }
        expect(.param, key: "algorithm") { try aes.signed([1], .sha256, context) }
        expect(.param, key: "algorithm") { _ = try aes.verified([1], [1], .sha256, context) }
        expect(.param, key: "algorithm") { try code.encrypted([1], .aesGCM, context: context) }
        expect(.param, key: "algorithm") { try code.decrypted([1], .aesGCM, context: context) }
        for count in [0, 12, 27] {
            expect(.param) { try aes.decrypted([UInt8](repeating: 0, count: count), .aesGCM, context: context) }
        }
        for count in [0, 8, 15, 17] {
            let bytes = [UInt8](repeating: 0, count: count)
            expect(.param) { try aes.encrypted(bytes, .aesKeyWrap, context: context) }
            expect(.param) { try aes.decrypted(bytes, .aesKeyWrap, context: context) }
        }
        expect(.param) { try aes.decrypted([UInt8](repeating: 0, count: 16), .aesKeyWrap, context: context) }
        expect(.param, key: "associatedData") {
            try aes.encrypted([UInt8](repeating: 0, count: 16), .aesKeyWrap, [1], context: context)
        }
        #expect(person.requests.isEmpty && test.keychain.isLocked)
    }

    @Test func keysOfPairsDoNothingByTheAlgorithmsOfSymmetricKeys() throws {
        let key = SoftwareKey(try TestKey.named("anna").privateKey)
        let byte: [UInt8] = [1]
        for algorithm in [KeyAlgorithm.aesGCM, .aesKeyWrap, .hmac(.sha256)] {
            for operation in KeyOperation.allCases { #expect(!key.isSupported(algorithm, for: operation)) }
            expect(.param, key: "algorithm") { _ = try key.signed([1], algorithm) }
            expect(.param, key: "algorithm") { _ = try key.decrypted([1], algorithm) }
            expect(.param, key: "algorithm") { _ = try key.encrypt(byte.span, using: algorithm) }
            expect(.param, key: "algorithm") { _ = try key.verify([1], of: [1], using: algorithm) }
        }
    }

    private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }
}
