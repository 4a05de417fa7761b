import CCryptoki
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge

/// The numbers of keys that are created and read: programs leave out the zeros before a big integer, or write any number of them.
/// PKCS #11 §3.3, §6.1 and §6.3.
@Suite struct KeyNumberTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    private func create(
        _ session: CK_SESSION_HANDLE, _ objectClass: CK_OBJECT_CLASS, _ type: CK_KEY_TYPE,
        _ attributes: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])], isKept: Bool = false
    ) throws -> CK_OBJECT_HANDLE {
        let own: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = [
            (CKA_CLASS, Encoded.ulong(objectClass)), (CKA_KEY_TYPE, Encoded.ulong(type)),
            (CKA_TOKEN, Encoded.bool(isKept)),
        ]
        return try cryptoki.createObject(session, Template(own + attributes))
    }

    private func createEC(
        _ session: CK_SESSION_HANDLE, _ kind: KeyKind, _ value: [UInt8], isKept: Bool
    ) throws -> CK_OBJECT_HANDLE {
        try create(
            session, CKO_PRIVATE_KEY, CKK_EC,
            [
                (CKA_EC_PARAMS, kind.curveParameters ?? []), (CKA_VALUE, value), (CKA_SENSITIVE, [0]),
                (CKA_EXTRACTABLE, [1]),
            ], isKept: isKept)
    }

    // MARK: Scalars

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521], [false, true])
    func aScalarIsTakenWithAndWithoutItsZerosAndToldWithout(kind: KeyKind, isKept: Bool) throws {
        let session = try session()
        let length = try #require(kind.coordinateLength)
        for count in [1, 2, length - 2, length - 1] {
            let digits = [0x01] + [UInt8](repeating: 0x7B, count: count - 1)
            let padded = [UInt8](repeating: 0, count: length - count) + digits
            let expected = try PrivateKey(ecScalar: Secret(copying: padded.span), curve: kind).publicKey
            for value in [digits, [0] + digits, padded, [0, 0, 0] + padded] {
                let key = try createEC(session, kind, value, isKept: isKept)
                #expect(try module.value(session, key, CKA_PUBLIC_KEY_INFO) == expected.spki)
                #expect(try module.value(session, key, CKA_VALUE) == digits)
                let signature = try module.sign(session, MechanismRequest(CKM_ECDSA_SHA256), key, [1, 2, 3])
                let der = try ECDSASignature.der(fromFixedWidth: signature)
                #expect(try expected.verify(der, message: [1, 2, 3], using: .ecdsa(.sha256)))
                try cryptoki.destroyObject(session, key)
            }
        }
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521])
    func aNumberThatIsNoScalarIsRefused(kind: KeyKind) throws {
        let session = try session()
        let length = try #require(kind.coordinateLength)
        let wrong: [[UInt8]] = [
            [], [0], [UInt8](repeating: 0, count: length), [UInt8](repeating: 0xFF, count: length),
            [1] + [UInt8](repeating: 0, count: length), [UInt8](repeating: 1, count: 5_000),
        ]
        for value in wrong {
            for isKept in [false, true] {
                #expect(
                    returned { _ = try createEC(session, kind, value, isKept: isKept) } == CKR_ATTRIBUTE_VALUE_INVALID)
            }
        }
    }

    /// A seed is no number: its zeros are bytes of it.
    @Test func aSeedHasAllItsBytes() throws {
        let session = try session()
        let seed = [0, 0] + [UInt8](repeating: 7, count: 30)
        func create(_ value: [UInt8]) throws -> CK_OBJECT_HANDLE {
            try self.create(
                session, CKO_PRIVATE_KEY, CKK_EC_EDWARDS,
                [
                    (CKA_EC_PARAMS, KeyKind.ed25519.curveParameters ?? []), (CKA_VALUE, value), (CKA_SENSITIVE, [0]),
                    (CKA_EXTRACTABLE, [1]),
                ])
        }
        #expect(try module.value(session, create(seed), CKA_VALUE) == seed)
        #expect(returned { _ = try create(Array(seed.dropFirst(2))) } == CKR_ATTRIBUTE_VALUE_INVALID)
    }

    // MARK: RSA

    /// A key with an exponent or a coefficient that is shorter than its prime.
    private static let rsa = Result {
        while true {
            let key = try PrivateKey.generate(.rsa(bits: 512))
            let primes = try key.rsaPrimes()
            if primes.dP.copy[0] == 0 || primes.dQ.copy[0] == 0 || primes.qInv.copy[0] == 0 { return key }
        }
    }

    private func numbers(of key: PrivateKey) throws -> [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] {
        let (modulus, exponent) = try #require(key.publicKey.rsaComponents)
        let primes = try key.rsaPrimes()
        return [
            (CKA_MODULUS, modulus), (CKA_PUBLIC_EXPONENT, exponent),
            (CKA_PRIVATE_EXPONENT, try key.rsaPrivateExponent().copy), (CKA_PRIME_1, primes.p.copy),
            (CKA_PRIME_2, primes.q.copy), (CKA_EXPONENT_1, primes.dP.copy), (CKA_EXPONENT_2, primes.dQ.copy),
            (CKA_COEFFICIENT, primes.qInv.copy),
        ].map { (type: $0.0, value: Array($0.1.drop { $0 == 0 })) }
    }

    /// With one wrong number, a key makes wrong signatures, or works until another program reads it.
    @Test(arguments: 0..<8, [true, false])
    func anRSAKeyWhoseNumbersDoNotBelongTogetherIsRefused(index: Int, isKept: Bool) throws {
        let session = try session()
        let numbers = try numbers(of: Self.rsa.get())
        var other = numbers[index].value
        other[other.count - 1] ^= 2
        for wrong in [other, [], [0], [1], [3], other + [1], Array(numbers[index].value.dropLast())] {
            var key = numbers
            key[index].value = wrong
            #expect(
                returned { _ = try create(session, CKO_PRIVATE_KEY, CKK_RSA, key, isKept: isKept) }
                    == CKR_ATTRIBUTE_VALUE_INVALID)
        }
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
    }

    @Test func theNumbersOfAnRSAKeyAreTakenWithZerosAndToldWithout() throws {
        let session = try session()
        let key = try Self.rsa.get()
        let numbers = try numbers(of: key)
        for zeros in [0, 1, 70] {
            let padded = numbers.map { (type: $0.type, value: [UInt8](repeating: 0, count: zeros) + $0.value) }
            let privateKey = try create(
                session, CKO_PRIVATE_KEY, CKK_RSA, padded + [(CKA_SENSITIVE, [0]), (CKA_EXTRACTABLE, [1])])
            for (type, value) in numbers { #expect(try module.value(session, privateKey, type) == value) }
            let publicKey = try create(session, CKO_PUBLIC_KEY, CKK_RSA, Array(padded.prefix(2)))
            #expect(try module.value(session, publicKey, CKA_PUBLIC_KEY_INFO) == key.publicKey.spki)
            #expect(try module.value(session, publicKey, CKA_MODULUS_BITS) == Encoded.ulong(512))
        }
    }

    // MARK: Points

    private func createPoint(_ kind: KeyKind, _ point: [UInt8]) throws -> PublicKey {
        let session = try session()
        defer { try? cryptoki.closeAllSessions(module.slots[0]) }
        let object = try create(
            session, CKO_PUBLIC_KEY, kind.keyType,
            [(CKA_EC_PARAMS, kind.curveParameters ?? []), (CKA_EC_POINT, point)])
        return try PublicKey(spki: module.value(session, object, CKA_PUBLIC_KEY_INFO))
    }

    @Test(arguments: [KeyKind.ecP256, .ecP384, .ecP521, .ed25519, .x25519])
    func aPointIsTakenWithItsWrappingAndWithout(kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind).publicKey
        let point = key.rawRepresentation
        #expect(try createPoint(kind, point) == key)
        #expect(try createPoint(kind, Encoded.octetString(point)) == key)
        let wrong: [[UInt8]] = [
            [], [4], Array(point.dropLast()), point + [0], TLV(0x03, point).encoded(),
            Encoded.octetString(Array(point.dropLast())), Encoded.octetString(point) + [0],
            Encoded.octetString(Encoded.octetString(point)),
        ]
        for bytes in wrong {
            #expect(returned { _ = try createPoint(kind, bytes) } == CKR_ATTRIBUTE_VALUE_INVALID, "\(bytes)")
        }
    }

    /// `04‖X‖Y` where X begins with the length of what follows it.
    @Test(arguments: [KeyKind.ecP256, .ecP384])
    func aPointThatLooksWrappedIsTakenAsItIs(kind: KeyKind) throws {
        let length = try #require(kind.coordinateLength)
        let first = UInt8(2 * length - 1)
        let scalars = (1...5_000).lazy.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let keys = scalars.compactMap { try? PrivateKey(ecScalar: .bytes($0), curve: kind).publicKey }
        let key = try #require(keys.first { $0.rawRepresentation[1] == first })
        #expect(try createPoint(kind, key.rawRepresentation) == key)
        #expect(try createPoint(kind, Encoded.octetString(key.rawRepresentation)) == key)
    }
}

extension Secret {
    fileprivate static func bytes(_ bytes: [UInt8]) -> Secret { Secret(copying: bytes.span) }
}
