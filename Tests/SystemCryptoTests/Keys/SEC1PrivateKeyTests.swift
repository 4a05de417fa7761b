import SecureBytes
import Testing

@testable import SystemCrypto

@Suite struct SEC1PrivateKeyTests {
    private let curve = DER.element(DER.Tag.context(0), DER.objectIdentifier("1.2.840.10045.3.1.7"))
    private let scalar = [UInt8](repeating: 0, count: 31) + [1]

    private func encode(version: UInt8 = 1, _ scalar: [UInt8], _ rest: [UInt8]...) -> [UInt8] {
        DER.sequence([DER.integer([version]), DER.octetString(scalar)] + rest)
    }

    private func code(of der: [UInt8]) -> CryptoError.Code? {
        errorCode { () throws(CryptoError) in _ = try PrivateKey(encoded: secret(der)) }
    }

    @Test func theHalvesBelongTogether() throws {
        let key = try PrivateKey(encoded: secret(encode(scalar, curve)))
        let point = DER.element(DER.Tag.context(1), DER.bitString(key.publicKey.rawRepresentation))
        #expect(try PrivateKey(encoded: secret(encode(scalar, curve, point))).publicKey == key.publicKey)

        let other = DER.element(
            DER.Tag.context(1), DER.bitString(try TestKeys.key(.ecP256).publicKey.rawRepresentation))
        #expect(code(of: encode(scalar, curve, other)) == .invalidKey)
        let none = DER.element(DER.Tag.context(1), DER.bitString([4]))
        #expect(code(of: encode(scalar, curve, none)) == .malformed)
    }

    @Test func whatIsNotTheFormatIsMalformed() {
        let key = encode(scalar, curve)
        #expect(code(of: encode(version: 2, scalar, curve)) == .malformed)
        #expect(code(of: key + [0]) == .malformed)
        #expect(code(of: encode(scalar, curve, [5, 0])) == .malformed)
        #expect(code(of: encode(scalar, DER.element(DER.Tag.context(0), [5, 0]))) == .malformed)
        for length in 0..<key.count { #expect(code(of: Array(key.prefix(length))) == .malformed) }
    }

    @Test func otherCurvesAreLeftToOpenSSL() throws {
        let secp256k1 = DER.element(DER.Tag.context(0), DER.objectIdentifier("1.3.132.0.10"))
        #expect(try PrivateKey(encoded: secret(encode(scalar, secp256k1))).kind == .other("EC secp256k1"))
    }

    @Test func keysWithoutACurveAreMalformed() {
        #expect(code(of: encode(scalar)) == .malformed)
        let unknown = DER.element(DER.Tag.context(0), DER.objectIdentifier("1.2.3.4"))
        #expect(code(of: encode(scalar, unknown)) == .malformed)
    }

    /// RFC 5915 §3 demands as many bytes as the order has; some programs write other numbers, inside PKCS#8 or by itself.
    @Test func scalarsOfAnyLengthAreRead() throws {
        let key = try PrivateKey(encoded: secret(encode(scalar, curve)))
        let point = DER.element(DER.Tag.context(1), DER.bitString(key.publicKey.rawRepresentation))
        let algorithm = DER.sequence([
            DER.objectIdentifier("1.2.840.10045.2.1"), DER.objectIdentifier("1.2.840.10045.3.1.7"),
        ])
        for other in [[1], [0, 1], [0] + scalar] as [[UInt8]] {
            for rest in [[], point] {
                let sec1 = encode(other, curve, rest)
                let pkcs8 = DER.sequence([
                    DER.integer([0]), algorithm, DER.octetString(encode(other, rest)),
                ])
                for file in [sec1, pkcs8] {
                    let read = try PrivateKey(encoded: secret(file))
                    #expect(read.publicKey == key.publicKey)
                    // The written scalar has the length of the standard.
                    #expect(try reveal(read.scalar()) == scalar)
                    let written = try read.algorithmEncoding()
                    #expect(try reveal(SEC1PrivateKey(written.bytes).scalar) == scalar)
                }
            }
        }
    }

    @Test func scalarsThatDoNotFitAreRefused() {
        #expect(code(of: encode([1] + [UInt8](repeating: 0, count: 32), curve)) == .invalidLength)
        #expect(code(of: encode([], curve)) == .invalidKey)
        #expect(code(of: encode([UInt8](repeating: 0xFF, count: 32), curve)) == .invalidKey)
    }
}
