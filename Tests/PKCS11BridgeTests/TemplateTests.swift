import CCryptoki
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import PKCS11Bridge

/// Templates: attributes that an object cannot have are refused before it is made, and vendor-defined attributes are not.
@Suite struct TemplateTests {
    private static let netscapeDatabase: CK_ATTRIBUTE_TYPE = 0xCE53_43D5 | 1 << 31

    private func check(_ objectClass: CK_OBJECT_CLASS, _ attributes: (CK_ATTRIBUTE_TYPE, [UInt8])...) -> CK_RV {
        returned {
            try TemplateRules.check(Template(attributes.map { (type: $0.0, value: $0.1) }), for: objectClass)
        }
    }

    @Test func everyClassHasItsOwnAttributes() {
        #expect(check(CKO_DATA, (CKA_APPLICATION, [1]), (CKA_VALUE, [1]), (CKA_LABEL, [])) == CKR_OK)
        #expect(check(CKO_DATA, (CKA_MODULUS, [1])) == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(check(CKO_CERTIFICATE, (CKA_ISSUER, []), (CKA_URL, [])) == CKR_OK)
        #expect(check(CKO_CERTIFICATE, (CKA_SIGN, [1])) == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(check(CKO_PUBLIC_KEY, (CKA_EC_POINT, []), (CKA_VERIFY, [1])) == CKR_OK)
        #expect(check(CKO_PUBLIC_KEY, (CKA_SENSITIVE, [1])) == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(check(CKO_PRIVATE_KEY, (CKA_PRIME_1, []), (CKA_ALWAYS_AUTHENTICATE, [0])) == CKR_OK)
        #expect(check(CKO_PRIVATE_KEY, (CKA_VERIFY, [1])) == CKR_ATTRIBUTE_TYPE_INVALID)
        #expect(check(CKO_SECRET_KEY, (CKA_VALUE_LEN, []), (CKA_ENCRYPT, [1])) == CKR_OK)
        #expect(check(CKO_SECRET_KEY, (CKA_EC_PARAMS, [])) == CKR_ATTRIBUTE_TYPE_INVALID)
    }

    @Test(arguments: [CKA_UNIQUE_ID, CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_KEY_GEN_MECHANISM])
    func whatOnlyTheTokenKnowsNoProgramSays(type: CK_ATTRIBUTE_TYPE) {
        for objectClass in [CKO_DATA, CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY] {
            #expect(check(objectClass, (type, [1])) == CKR_ATTRIBUTE_READ_ONLY)
        }
    }

    @Test func anAttributeHasOneValue() {
        #expect(check(CKO_DATA, (CKA_LABEL, [1]), (CKA_LABEL, [2])) == CKR_TEMPLATE_INCONSISTENT)
        #expect(check(CKO_DATA, (CKA_LABEL, [1]), (CKA_LABEL, [1])) == CKR_OK)
    }

    @Test func whatAMakerAddsIsPassedOver() {
        for objectClass in [CKO_DATA, CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY] {
            #expect(check(objectClass, (Self.netscapeDatabase, [1])) == CKR_OK)
        }
        #expect(check(77, (CKA_MODULUS, [1])) == CKR_OK)
    }

    // MARK: Curves

    @Test func parametersNameACurve() throws {
        let p256 = try #require(KeyKind.ecP256.curveParameters)
        #expect(try KeyKind.named(by: p256) == .ecP256)
        #expect(try KeyKind.named(by: TLV(0x13, Array("edwards25519".utf8)).encoded()) == .ed25519)
        let others: [[UInt8]] = [[0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A], TLV(0x13, [0x41]).encoded()]
        for parameters in others {
            #expect(returned { _ = try KeyKind.named(by: parameters) } == CKR_CURVE_NOT_SUPPORTED)
        }
        let nonsense: [[UInt8]] = [[], [0], [0x06, 0x05, 0x2B], p256 + [0], TLV(0x30, p256).encoded(), [0x05, 0x00]]
        for parameters in nonsense {
            #expect(returned { _ = try KeyKind.named(by: parameters) } == CKR_DOMAIN_PARAMS_INVALID)
        }
    }

    // MARK: Before the card

    @Test func theCardIsNotAskedForAKeyThatCannotBeMade() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session(loggedIn: true)
        let (agree, open) = (try module.key(session, [3]), try module.key(session, [1]))
        let peer = try PrivateKey.generate(.ecP384).publicKey.rawRepresentation
        let request = MechanismRequest(
            CKM_ECDH1_DERIVE, .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: peer))
        module.reader.clearLog()
        let templates: [[(CK_ATTRIBUTE_TYPE, [UInt8])]] = [
            [(CKA_SENSITIVE, [1, 1])], [(CKA_VALUE_LEN, [1])], [(CKA_LOCAL, [1])], [(CKA_MODULUS, [1])],
            [(CKA_TOKEN, [1])], [(CKA_CLASS, Encoded.ulong(CKO_DATA))],
        ]
        for attributes in templates {
            let template = Template(attributes.map { (type: $0.0, value: $0.1) })
            #expect(
                returned { _ = try module.cryptoki.deriveKey(session, request, base: agree, template) } != CKR_OK)
            let wrapped = [UInt8](repeating: 1, count: 256)
            #expect(
                returned {
                    _ = try module.cryptoki.unwrapKey(
                        session, MechanismRequest(CKM_RSA_PKCS), unwrapping: open, wrapped, template)
                } != CKR_OK)
        }
        #expect(module.reader.log.isEmpty)
    }

    @Test func aKeyThatIsToBeUsedForNothingIsNotUsed() throws {
        let module = try TestModule(VirtualReader(card: try Cards.mixed()))
        let session = try module.session()
        let numbers = try module.publicKey(session, [1]).rsaComponents
        let (modulus, exponent) = try #require(numbers)
        func create(_ uses: (CK_ATTRIBUTE_TYPE, [UInt8])...) throws -> CK_OBJECT_HANDLE {
            let own: [(type: CK_ATTRIBUTE_TYPE, value: [UInt8])] = [
                (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_RSA)),
                (CKA_MODULUS, modulus), (CKA_PUBLIC_EXPONENT, exponent),
            ]
            return try module.cryptoki.createObject(
                session, Template(own + uses.map { (type: $0.0, value: $0.1) }))
        }
        let request = MechanismRequest(CKM_RSA_PKCS)
        let idle = try create((CKA_ENCRYPT, [0]), (CKA_VERIFY, [0]))
        #expect(
            returned { try module.cryptoki.encryptInit(session, request, key: idle) } == CKR_KEY_FUNCTION_NOT_PERMITTED)
        #expect(
            returned { try module.cryptoki.verifyInit(session, request, key: idle) } == CKR_KEY_FUNCTION_NOT_PERMITTED)
        try module.cryptoki.encryptInit(session, request, key: create())
        // A key does not get a use that its kind does not have.
        let point = try module.publicKey(session, [3]).rawRepresentation
        let curve = try module.cryptoki.createObject(
            session,
            Template([
                (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP384.curveParameters ?? []), (CKA_EC_POINT, point), (CKA_ENCRYPT, [1]),
            ]))
        #expect(try module.value(session, curve, CKA_ENCRYPT) == [0])
    }
}
