import SystemCrypto
import Testing

@Suite struct AESGCMTests {
    struct Vector: CustomTestStringConvertible {
        let name: String
        let key, nonce, plaintext, associated, sealed: String
        var testDescription: String { name }
    }

    private static let plaintext =
        "D9313225F88406E5A55909C5AFF5269A86A7A9531534F7DA2E4C303D8A318A72"
        + "1C3C0C95956809532FCF0E2449A6B525B16AEDF5AA0DE657BA637B39"
    private static let associated = "FEEDFACEDEADBEEFFEEDFACEDEADBEEFABADDAD2"

    /// McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, which SP 800-38D cites.
    static let vectors = [
        Vector(
            name: "case 1", key: "00000000000000000000000000000000", nonce: "000000000000000000000000", plaintext: "",
            associated: "", sealed: "58E2FCCEFA7E3061367F1D57A4E7455A"),
        Vector(
            name: "case 2", key: "00000000000000000000000000000000", nonce: "000000000000000000000000",
            plaintext: "00000000000000000000000000000000", associated: "",
            sealed: "0388DACE60B6A392F328C2B971B2FE78" + "AB6E47D42CEC13BDF53A67B21257BDDF"),
        Vector(
            name: "case 4", key: "FEFFE9928665731C6D6A8F9467308308", nonce: "CAFEBABEFACEDBADDECAF888",
            plaintext: plaintext, associated: associated,
            sealed: "42831EC2217774244B7221B784D0D49CE3AA212F2C02A4E035C17E2329ACA12E"
                + "21D514B25466931C7D8F6A5AAC84AA051BA30B396A0AAC973D58E091" + "5BC94FBC3221A5DB94FAE95AE7121A47"),
        Vector(
            name: "case 13", key: String(repeating: "00", count: 32), nonce: "000000000000000000000000",
            plaintext: "", associated: "", sealed: "530F8AFBC74536B9A963B4F1C4CB738B"),
        Vector(
            name: "case 16", key: "FEFFE9928665731C6D6A8F9467308308FEFFE9928665731C6D6A8F9467308308",
            nonce: "CAFEBABEFACEDBADDECAF888", plaintext: plaintext, associated: associated,
            sealed: "522DC1F099567D07F47F37A32A84427D643A8CDCBFE5C0C97598A2BD2555D1AA"
                + "8CB08E48590DBB3DA7B08B1056828838C5F61E6393BA7A0ABCC9F662" + "76FC6ECE0F4E1768CDDF8853BB2D551B"),
        Vector(
            name: "case 5, a short nonce", key: "FEFFE9928665731C6D6A8F9467308308", nonce: "CAFEBABEFACEDBAD",
            plaintext: plaintext, associated: associated,
            sealed: "61353B4C2806934A777FF51FA22A4755699B2A714FCDC6F83766E5F97B6C7423"
                + "73806900E49F24B22B097544D4896B424989B5E1EBAC0F07C23F4598" + "3612D2E79E3B0785561BE14AACA2FCCB"),
        Vector(
            name: "case 6, a long nonce", key: "FEFFE9928665731C6D6A8F9467308308",
            nonce: "9313225DF88406E555909C5AFF5269AA6A7A9538534F7DA1E4C303D2A318A728"
                + "C3C0C95156809539FCF0E2429A6B525416AEDBF5A0DE6A57A637B39B",
            plaintext: plaintext, associated: associated,
            sealed: "8CE24998625615B603A033ACA13FB894BE9112A5C3A211A8BA262A3CCA7E2CA7"
                + "01E4A9A4FBA43C90CCDCB281D48C7C6FD62875D2ACA417034C34AEE5" + "619CC5AEFFFE0BFA462AF43C1699D050"),
    ]

    @Test(arguments: vectors)
    func knownAnswers(_ vector: Vector) throws {
        let sealed = try AESGCM.seal(
            hex(vector.plaintext).span, key: secret(hex(vector.key)), nonce: hex(vector.nonce),
            authenticating: hex(vector.associated))
        #expect(sealed == hex(vector.sealed))
        let opened = try AESGCM.open(
            sealed, key: secret(hex(vector.key)), nonce: hex(vector.nonce), authenticating: hex(vector.associated))
        #expect(reveal(opened) == hex(vector.plaintext))
    }

    private let nonce = [UInt8](repeating: 7, count: 12)

    private func seal(_ text: String = "attack at dawn") throws -> [UInt8] {
        try AESGCM.seal(
            utf8(text).span, key: secret(hex(Self.vectors[4].key)), nonce: nonce, authenticating: utf8("row 5"))
    }

    private func open(_ sealed: [UInt8], row: String = "row 5", nonce: [UInt8]? = nil) throws(CryptoError) -> [UInt8] {
        reveal(
            try AESGCM.open(
                sealed, key: secret(hex(Self.vectors[4].key)), nonce: nonce ?? self.nonce, authenticating: utf8(row)))
    }

    @Test func anyChangedByteIsRefused() throws {
        let sealed = try seal()
        for index in sealed.indices {
            #expect(throws: CryptoError(.authenticationFailed, "")) { try open(flipping(sealed, at: index)) }
        }
    }

    @Test func anyOtherLengthIsRefused() throws {
        let sealed = try seal()
        for length in 0..<sealed.count {
            #expect(throws: CryptoError(.authenticationFailed, "")) { try open(Array(sealed.prefix(length))) }
        }
        #expect(throws: CryptoError(.authenticationFailed, "")) { try open(sealed + [0]) }
    }

    @Test func otherDataNonceAndKeyAreRefused() throws {
        let sealed = try seal()
        #expect(try open(sealed) == utf8("attack at dawn"))
        #expect(throws: CryptoError(.authenticationFailed, "")) { try open(sealed, row: "row 6") }
        #expect(throws: CryptoError(.authenticationFailed, "")) { try open(sealed, row: "") }
        #expect(throws: CryptoError(.authenticationFailed, "")) { try open(sealed, nonce: flipping(nonce, at: 11)) }
        let code = errorCode { () throws(CryptoError) in
            _ = try AESGCM.open(
                sealed, key: secret([UInt8](repeating: 1, count: 32)), nonce: nonce, authenticating: utf8("row 5"))
        }
        #expect(code == .authenticationFailed)
    }

    @Test(arguments: [(15, 12), (0, 12), (33, 12), (32, 0), (32, 7), (16, 65)])
    func otherKeysAndNoncesDoNotFit(keyLength: Int, nonceLength: Int) {
        let nonce = [UInt8](repeating: 0, count: nonceLength)
        let zeros = [UInt8](repeating: 0, count: 40)
        let sealing = errorCode { () throws(CryptoError) in
            _ = try AESGCM.seal(zeros.span, key: secret(Array(zeros.prefix(keyLength))), nonce: nonce)
        }
        #expect(sealing == .invalidLength)
        let code = errorCode { () throws(CryptoError) in
            _ = try AESGCM.open(zeros, key: secret(Array(zeros.prefix(keyLength))), nonce: nonce)
        }
        #expect(code == .invalidLength)
    }

    @Test func largeDataComesBack() throws {
        let data = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let key = try RandomBytes.make(count: 32)
        let sealed = try AESGCM.seal(data.span, key: secret(key), nonce: nonce)
        #expect(sealed.count == data.count + AESGCM.tagLength)
        #expect(reveal(try AESGCM.open(sealed, key: secret(key), nonce: nonce)) == data)
    }
}
