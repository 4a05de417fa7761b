import CCryptoki
import KeychainHost
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge

/// Keys that are generated, derived and unwrapped: their mechanism says what they are, and their templates agree.
@Suite struct KeyMakingTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    typealias Attribute = (CK_ATTRIBUTE_TYPE, [UInt8])
    typealias Pair = (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE)

    private func template(_ attributes: [Attribute]) -> Template {
        Template(attributes.map { (type: $0.0, value: $0.1) })
    }

    private func generate(
        _ session: CK_SESSION_HANDLE, _ mechanism: CK_MECHANISM_TYPE, _ kind: KeyKind,
        public publicTemplate: [Attribute] = [],
        private privateTemplate: [Attribute] = []
    ) throws -> Pair {
        let numbers: Attribute =
            kind.isRSA ? (CKA_MODULUS_BITS, Encoded.ulong(2048)) : (CKA_EC_PARAMS, kind.curveParameters ?? [])
        return try cryptoki.generateKeyPair(
            session, MechanismRequest(mechanism), template([numbers] + publicTemplate), template(privateTemplate))
    }

    private static let mechanisms = [
        CKM_EC_KEY_PAIR_GEN, CKM_EC_EDWARDS_KEY_PAIR_GEN, CKM_EC_MONTGOMERY_KEY_PAIR_GEN,
    ]
    private static let curves: [KeyKind] = [.ecP256, .ecP384, .ecP521, .ed25519, .x25519]
    private static let kinds = curves + [.rsa(bits: 2048)]

    @Test(arguments: mechanisms, curves)
    func eachMechanismMakesKeysOfItsOwnCurves(mechanism: CK_MECHANISM_TYPE, kind: KeyKind) throws {
        let session = try session()
        for isKept in [true, false] {
            let made = returned {
                _ = try generate(session, mechanism, kind, private: [(CKA_TOKEN, Encoded.bool(isKept))])
            }
            #expect(made == (kind.generation == mechanism ? CKR_OK : CKR_CURVE_NOT_SUPPORTED))
        }
    }

    @Test(arguments: kinds, [true, false])
    func aKeySaysWhichMechanismMadeIt(kind: KeyKind, isKept: Bool) throws {
        let session = try session()
        let pair = try generate(session, kind.generation, kind, private: [(CKA_TOKEN, Encoded.bool(isKept))])
        for key in [pair.publicKey, pair.privateKey] {
            #expect(try module.value(session, key, CKA_LOCAL) == [1])
            #expect(try module.value(session, key, CKA_KEY_GEN_MECHANISM) == Encoded.ulong(kind.generation))
        }
        #expect(try module.value(session, pair.privateKey, CKA_SIGN) == Encoded.bool(kind != .x25519))
        #expect(try module.value(session, pair.publicKey, CKA_VERIFY) == Encoded.bool(kind != .x25519))
    }

    @Test func ofAKeyThatWasBroughtNoMechanismIsKnown() throws {
        let id = try addIdentity("anna").publicKey.keyHash
        let session = try session()
        for objectClass in [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY] {
            let key = try module.key(session, id, objectClass)
            #expect(try module.value(session, key, CKA_LOCAL) == [0])
            #expect(try module.value(session, key, CKA_KEY_GEN_MECHANISM) == Encoded.ulong(.max))
        }
    }

    @Test func aCopyWasMadeAsItsOriginalWas() throws {
        let session = try session()
        let pair = try generate(session, CKM_EC_KEY_PAIR_GEN, .ecP256)
        for key in [pair.publicKey, pair.privateKey] {
            let copy = try cryptoki.copyObject(session, key, Template())
            for type in [CKA_LOCAL, CKA_KEY_GEN_MECHANISM] {
                #expect(try module.value(session, copy, type) == module.value(session, key, type))
            }
        }
    }

    @Test(arguments: kinds)
    func aTemplateThatAgreesWithTheMechanismSaysNothingNew(kind: KeyKind) throws {
        let session = try session()
        let type: Attribute = (CKA_KEY_TYPE, Encoded.ulong(kind.keyType))
        _ = try generate(
            session, kind.generation, kind, public: [type, (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY))],
            private: [type, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))])
    }

    @Test(arguments: [true, false])
    func aTemplateThatContradictsTheMechanismMakesNoKey(isKept: Bool) throws {
        let session = try session()
        let kept: [Attribute] = [(CKA_TOKEN, Encoded.bool(isKept))]
        let wrong: [(public: [Attribute], private: [Attribute])] = [
            ([(CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))], []), ([], [(CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY))]),
            ([(CKA_CLASS, Encoded.ulong(CKO_DATA))], []), ([(CKA_KEY_TYPE, Encoded.ulong(CKK_RSA))], []),
            ([], [(CKA_KEY_TYPE, Encoded.ulong(CKK_EC_EDWARDS))]), ([(CKA_EC_POINT, [4])], []),
            ([], [(CKA_VALUE, [1])]),
            ([], [(CKA_PRIME_1, [1])]), ([(CKA_MODULUS, [1])], []),
        ]
        for case_ in wrong {
            let code = returned {
                _ = try generate(
                    session, CKM_EC_KEY_PAIR_GEN, .ecP256, public: case_.public, private: kept + case_.private)
            }
            #expect(code == CKR_TEMPLATE_INCONSISTENT)
        }
        let size = returned {
            _ = try generate(session, CKM_EC_KEY_PAIR_GEN, .ecP256, private: [(CKA_KEY_TYPE, [1])])
        }
        #expect(size == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
    }

    @Test func aKeyThatComesOfAnotherBringsNoValue() throws {
        try checkRefusal(of: template([(CKA_VALUE, [1, 2, 3])]), with: CKR_TEMPLATE_INCONSISTENT, in: session())
    }

    /// This holds for a key that is created, derived or unwrapped.
    @Test(
        arguments: [
            (CKF_RW_SESSION, CKK_DES3, CKR_TEMPLATE_INCONSISTENT), (0, CKK_AES, CKR_SESSION_READ_ONLY),
        ] as [(CK_FLAGS, CK_KEY_TYPE, CK_RV)])
    func aSecretKeyThatNoKeychainKeepsIsNotMade(flags: CK_FLAGS, type: CK_KEY_TYPE, expected: CK_RV) throws {
        _ = try session()
        let session = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION | flags)
        let kept: [(CK_ATTRIBUTE_TYPE, [UInt8])] = [(CKA_TOKEN, [1]), (CKA_KEY_TYPE, Encoded.ulong(type))]
        let brought = template(
            kept + [(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [UInt8](repeating: 1, count: 16))])
        #expect(returned { _ = try cryptoki.createObject(session, brought) } == expected)
        try checkRefusal(of: template(kept), with: expected, in: session)
    }

    /// Expects the same error when a key is derived and when it is unwrapped.
    private func checkRefusal(
        of template: Template, with expected: CK_RV, in session: CK_SESSION_HANDLE
    ) throws {
        let rsa = try generate(session, CKM_RSA_PKCS_KEY_PAIR_GEN, .rsa(bits: 2048)).privateKey
        let curve = try generate(session, CKM_EC_KEY_PAIR_GEN, .ecP256)
        let point = try PublicKey(spki: module.value(session, curve.publicKey, CKA_PUBLIC_KEY_INFO)).rawRepresentation
        let agreement = MechanismRequest(
            CKM_ECDH1_DERIVE, .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: point))
        let wrapped = [UInt8](repeating: 1, count: 256)
        let derived = returned { _ = try cryptoki.deriveKey(session, agreement, base: curve.privateKey, template) }
        let unwrapped = returned {
            _ = try cryptoki.unwrapKey(session, MechanismRequest(CKM_RSA_PKCS), unwrapping: rsa, wrapped, template)
        }
        #expect([derived, unwrapped] == [expected, expected])
    }
}
