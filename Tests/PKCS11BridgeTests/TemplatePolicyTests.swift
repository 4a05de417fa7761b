import CCryptoki
import KeychainHost
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge

/// An object has the protection that its template asks for, or it is not made.
@Suite struct TemplatePolicyTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    typealias Attribute = (CK_ATTRIBUTE_TYPE, [UInt8])

    private static let rsa = try? PrivateKey.generate(.rsa(bits: 2048))

    private func template(_ attributes: [Attribute]) -> Template {
        Template(attributes.map { (type: $0.0, value: $0.1) })
    }

    private func flag(_ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE, _ type: CK_ATTRIBUTE_TYPE) throws -> Bool {
        try module.value(session, key, type) == Encoded.bool(true)
    }

    private func generate(
        _ session: CK_SESSION_HANDLE, public publicTemplate: [Attribute] = [], private privateTemplate: [Attribute] = []
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])] + publicTemplate),
            template(privateTemplate))
    }

    /// Creates an RSA key with further attributes beside its numbers.
    private func create(
        _ session: CK_SESSION_HANDLE, _ objectClass: CK_OBJECT_CLASS, _ attributes: [Attribute]
    ) throws -> CK_OBJECT_HANDLE {
        let key = try #require(Self.rsa)
        let (modulus, exponent) = try #require(key.publicKey.rsaComponents)
        var numbers: [Attribute] = [
            (CKA_CLASS, Encoded.ulong(objectClass)), (CKA_KEY_TYPE, Encoded.ulong(CKK_RSA)), (CKA_MODULUS, modulus),
            (CKA_PUBLIC_EXPONENT, exponent),
        ]
        if objectClass == CKO_PRIVATE_KEY {
            for type in PrivateNumbers.types(of: key.kind) {
                numbers.append((type, try PrivateNumbers.value(type, of: key).copy))
            }
        }
        return try cryptoki.createObject(session, template(numbers + attributes))
    }

    // MARK: Protection that is not offered

    private static let kept: Attribute = (CKA_TOKEN, [1])

    @Test(arguments: [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY, CKO_CERTIFICATE, CKO_DATA])
    func protectionThatThereIsNoneOfIsRefused(objectClass: CK_OBJECT_CLASS) {
        func check(_ attributes: Attribute...) -> CK_RV {
            returned { try TemplateRules.check(template(attributes), for: objectClass) }
        }
        #expect(check((CKA_DESTROYABLE, [0])) == CKR_TEMPLATE_INCONSISTENT)
        #expect(check((CKA_DESTROYABLE, [1])) == CKR_OK)
        #expect(check(Self.kept, (CKA_MODIFIABLE, [0])) == CKR_TEMPLATE_INCONSISTENT)
        #expect(check(Self.kept, (CKA_MODIFIABLE, [1])) == CKR_OK)
        // A session object may be unmodifiable.
        #expect(check((CKA_MODIFIABLE, [0])) == CKR_OK)
        #expect(check((CKA_DESTROYABLE, [0, 0])) == CKR_ATTRIBUTE_VALUE_INVALID)
    }

    @Test func whatEverybodySeesIsNotCalledPrivate() {
        for (objectClass, code) in [
            (CKO_PUBLIC_KEY, CKR_TEMPLATE_INCONSISTENT), (CKO_CERTIFICATE, CKR_TEMPLATE_INCONSISTENT),
            (CKO_PRIVATE_KEY, CKR_OK), (CKO_DATA, CKR_OK),
        ] {
            let asked = template([Self.kept, (CKA_PRIVATE, [1])])
            #expect(returned { try TemplateRules.check(asked, for: objectClass) } == code)
            #expect(returned { try TemplateRules.check(template([(CKA_PRIVATE, [1])]), for: objectClass) } == CKR_OK)
        }
    }

    /// `pkcs11-tool --write-object --type data` and `p11tool --no-mark-private` ask for public objects.
    @Test(arguments: [CKO_DATA, CKO_PRIVATE_KEY])
    func whatIsSealedIsPrivateAndSaysSo(objectClass: CK_OBJECT_CLASS) throws {
        let session = try session()
        let asked: [Attribute] = [Self.kept, (CKA_PRIVATE, [0]), (CKA_LABEL, Encoded.text("x"))]
        let object =
            objectClass == CKO_DATA
            ? try cryptoki.createObject(
                session, template(asked + [(CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_VALUE, [1])]))
            : try create(session, objectClass, asked)
        #expect(try flag(session, object, CKA_PRIVATE))
        try cryptoki.logOut(session)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass))).isEmpty)
    }

    @Test(arguments: [CKO_PRIVATE_KEY, CKO_PUBLIC_KEY], [true, false])
    func aKeyThatNothingDestroysIsNotMade(objectClass: CK_OBJECT_CLASS, isKept: Bool) throws {
        let session = try session()
        let asked: [Attribute] = [(CKA_TOKEN, Encoded.bool(isKept)), (CKA_DESTROYABLE, [0])]
        #expect(returned { _ = try create(session, objectClass, asked) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(returned { _ = try generate(session, public: asked) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(returned { _ = try generate(session, private: asked) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass))).isEmpty)
    }

    @Test func nobodySaysWhatIsTrusted() throws {
        let session = try session()
        let code = returned { _ = try create(session, CKO_PUBLIC_KEY, [(CKA_TRUSTED, [1])]) }
        #expect(code == CKR_ATTRIBUTE_READ_ONLY)
        _ = try create(session, CKO_PUBLIC_KEY, [(CKA_TRUSTED, [0])])
    }

    @Test(arguments: [true, false])
    func aKeyThatOnlyATrustedOneMayWrapIsNotMade(isKept: Bool) throws {
        let session = try session()
        let asked: [Attribute] = [(CKA_TOKEN, Encoded.bool(isKept)), (CKA_WRAP_WITH_TRUSTED, [1])]
        #expect(returned { _ = try generate(session, private: asked) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(returned { _ = try create(session, CKO_PRIVATE_KEY, asked) } == CKR_TEMPLATE_INCONSISTENT)
        let secret: [Attribute] = [
            (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1]), (CKA_WRAP_WITH_TRUSTED, [1]),
        ]
        #expect(returned { _ = try cryptoki.createObject(session, template(secret)) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).isEmpty)
        _ = try generate(session, private: [(CKA_TOKEN, Encoded.bool(isKept)), (CKA_WRAP_WITH_TRUSTED, [0])])
    }

    @Test func templatesForOtherKeysAreNotKept() throws {
        let session = try session()
        let nested = [UInt8](repeating: 0, count: 24)
        #expect(
            returned { _ = try create(session, CKO_PUBLIC_KEY, [(CKA_WRAP_TEMPLATE, nested)]) }
                == CKR_TEMPLATE_INCONSISTENT)
        #expect(
            returned { _ = try create(session, CKO_PRIVATE_KEY, [(CKA_UNWRAP_TEMPLATE, nested)]) }
                == CKR_TEMPLATE_INCONSISTENT)
        _ = try create(session, CKO_PUBLIC_KEY, [(CKA_WRAP_TEMPLATE, [])])
    }

    @Test(arguments: [true, false])
    func aKeyIsKeptFromNoneOfItsMechanisms(isKept: Bool) throws {
        let session = try session()
        let kept: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
        func generate(_ list: [UInt8], _ others: Attribute...) -> CK_RV {
            returned { _ = try self.generate(session, private: [kept, (CKA_ALLOWED_MECHANISMS, list)] + others) }
        }
        #expect(generate(Encoded.ulongs([CKM_ECDSA])) == CKR_TEMPLATE_INCONSISTENT)
        #expect(generate([1, 2, 3]) == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(generate([]) == CKR_OK)
        let signing = [
            CKM_ECDSA, CKM_ECDSA_SHA1, CKM_ECDSA_SHA224, CKM_ECDSA_SHA256, CKM_ECDSA_SHA384, CKM_ECDSA_SHA512,
        ]
        #expect(generate(Encoded.ulongs(signing)) == CKR_TEMPLATE_INCONSISTENT)
        #expect(generate(Encoded.ulongs(signing), (CKA_DERIVE, [0])) == CKR_OK)
        #expect(
            generate(Encoded.ulongs(signing + [CKM_ECDH1_DERIVE, CKM_ECDH1_COFACTOR_DERIVE] + [CKM_SHA256])) == CKR_OK)
        let one: [Attribute] = [kept, (CKA_ALLOWED_MECHANISMS, Encoded.ulongs([CKM_RSA_PKCS]))]
        #expect(returned { _ = try create(session, CKO_PRIVATE_KEY, one) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(returned { _ = try create(session, CKO_PUBLIC_KEY, one) } == CKR_TEMPLATE_INCONSISTENT)
    }

    @Test func aPairThatIsRefusedLeavesNoHalfBehind() throws {
        let session = try session()
        func publicKeys() throws -> Int {
            try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY)), (CKA_TOKEN, [0])).count
        }
        let ofSession: Attribute = (CKA_TOKEN, [0])
        let refused: [Attribute] = [
            (CKA_ALLOWED_MECHANISMS, Encoded.ulongs([CKM_ECDSA])), (CKA_ALWAYS_AUTHENTICATE, [1]),
            (CKA_COPYABLE, [1, 0, 0, 0]), (CKA_COPYABLE, []),
        ]
        for attribute in refused {
            #expect(returned { _ = try generate(session, private: [ofSession, attribute]) } != CKR_OK)
            #expect(try publicKeys() == 0)
        }
        try module.cryptoki.logOut(session)
        #expect(
            returned { _ = try generate(session, private: [ofSession, (CKA_PRIVATE, [1])]) } == CKR_USER_NOT_LOGGED_IN)
        #expect(try publicKeys() == 0)
        _ = try generate(session, private: [ofSession, (CKA_PRIVATE, [0])])
        #expect(try publicKeys() == 1)
    }

    // MARK: What an item has

    struct Unwrapping {
        let asked: [CK_ATTRIBUTE_TYPE: Bool]
        let decrypts: Bool
        let unwraps: Bool

        static let all = [
            Unwrapping(asked: [:], decrypts: true, unwraps: true),
            Unwrapping(asked: [CKA_UNWRAP: false], decrypts: true, unwraps: false),
            Unwrapping(asked: [CKA_DECRYPT: false], decrypts: false, unwraps: false),
            Unwrapping(asked: [CKA_DECRYPT: false, CKA_UNWRAP: true], decrypts: false, unwraps: true),
            Unwrapping(asked: [CKA_DECRYPT: true, CKA_UNWRAP: false], decrypts: true, unwraps: false),
        ]
    }

    @Test(arguments: Unwrapping.all, [true, false])
    func aKeyUnwrapsOnlyWhereItMay(expected: Unwrapping, isKept: Bool) throws {
        let session = try session()
        let uses = expected.asked.map { ($0.key, Encoded.bool($0.value)) }
        let key = try create(session, CKO_PRIVATE_KEY, [(CKA_TOKEN, Encoded.bool(isKept))] + uses)
        #expect(try flag(session, key, CKA_DECRYPT) == expected.decrypts)
        #expect(try flag(session, key, CKA_UNWRAP) == expected.unwraps)
        let request = MechanismRequest(CKM_RSA_PKCS)
        let decrypting = returned { try cryptoki.decryptInit(session, request, key: key) }
        #expect(decrypting == (expected.decrypts ? CKR_OK : CKR_KEY_FUNCTION_NOT_PERMITTED))
        let wrapped = try #require(Self.rsa).publicKey.encrypt([1, 2, 3], using: .pkcs1)
        let unwrapping = returned {
            _ = try cryptoki.unwrapKey(session, request, unwrapping: key, wrapped, Template())
        }
        #expect(unwrapping == (expected.unwraps ? CKR_OK : CKR_KEY_FUNCTION_NOT_PERMITTED))
    }

    @Test(arguments: [CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP], [true, false])
    func aPublicKeyIsNotForWhatItIsToBeKeptFrom(use: CK_ATTRIBUTE_TYPE, isKept: Bool) throws {
        let session = try session()
        let key = try create(session, CKO_PUBLIC_KEY, [(CKA_TOKEN, Encoded.bool(isKept)), (use, [0])])
        for other in [CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP] {
            #expect(try flag(session, key, other) == (other != use))
        }
        let request = MechanismRequest(CKM_RSA_PKCS)
        let codes = [
            CKA_ENCRYPT: returned { try cryptoki.encryptInit(session, request, key: key) },
            CKA_VERIFY: returned { try cryptoki.verifyInit(session, request, key: key) },
        ]
        for (other, code) in codes { #expect(code == (other == use ? CKR_KEY_FUNCTION_NOT_PERMITTED : CKR_OK)) }
        guard isKept else { return }
        let next = try TestModule(sharing: module)
        let again = try next.session(loggedIn: true, pin: "open")
        let found = try #require(try next.find(again, (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY))).first)
        #expect(try next.value(again, found, use) == [0])
    }

    @Test func theHalvesOfAPairHaveUsesOfTheirOwn() throws {
        let session = try session()
        let pair = try generate(session, public: [(CKA_VERIFY, [0])], private: [Self.kept, (CKA_SIGN, [1])])
        #expect(try !flag(session, pair.publicKey, CKA_VERIFY))
        #expect(try flag(session, pair.privateKey, CKA_SIGN))
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(try module.sign(session, MechanismRequest(CKM_ECDSA), pair.privateKey, digest).count == 64)
        // A public half that is not an item has the uses of any public key.
        try cryptoki.destroyObject(session, pair.publicKey)
        let implied = try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY)))
        #expect(try implied.map { try flag(session, $0, CKA_VERIFY) } == [true])
    }

    // MARK: Numbers that are too large

    @Test(arguments: [true, false])
    func aBlockThatIsNotBelowTheModulusIsWrongData(isKept: Bool) throws {
        let session = try session()
        let key = try create(session, CKO_PRIVATE_KEY, [(CKA_TOKEN, Encoded.bool(isKept))])
        let block = [UInt8](repeating: 0xFF, count: 256)
        let raw = MechanismRequest(CKM_RSA_X_509)
        #expect(returned { _ = try module.sign(session, raw, key, block) } == CKR_DATA_INVALID)
        try cryptoki.decryptInit(session, raw, key: key)
        #expect(returned { _ = try cryptoki.decrypt(session, block, .bytes(256)) } == CKR_ENCRYPTED_DATA_INVALID)
    }

    // MARK: Copies

    @Test func whatIsNotToBeCopiedIsNot() throws {
        let session = try session()
        let key = try create(session, CKO_PRIVATE_KEY, [(CKA_COPYABLE, [0])])
        #expect(try !flag(session, key, CKA_COPYABLE))
        #expect(returned { _ = try cryptoki.copyObject(session, key, Template()) } == CKR_ACTION_PROHIBITED)
        let password: [Attribute] = [Self.kept, (CKA_CLASS, Encoded.ulong(CKO_DATA)), (CKA_COPYABLE, [0])]
        #expect(returned { _ = try cryptoki.createObject(session, template(password)) } == CKR_TEMPLATE_INCONSISTENT)
    }

    @Test func aCopyThatIsKeptHasTheUsesOfItsOriginal() throws {
        let session = try session()
        let key = try create(session, CKO_PRIVATE_KEY, [(CKA_UNWRAP, [0]), (CKA_SIGN, [0])])
        let copy = try cryptoki.copyObject(session, key, template([Self.kept]))
        for type in [CKA_UNWRAP, CKA_SIGN, CKA_DECRYPT, CKA_ALLOWED_MECHANISMS] {
            #expect(try module.value(session, copy, type) == module.value(session, key, type))
        }
        #expect(try !flag(session, copy, CKA_UNWRAP) && flag(session, copy, CKA_DECRYPT))
    }
}
