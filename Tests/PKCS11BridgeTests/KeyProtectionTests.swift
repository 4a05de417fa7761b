import CCryptoki
import KeychainHost
import KeychainModel
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge

/// The protection of a private key in a keychain or of a session, by its template and its item. PKCS #11 §4.9.
@Suite struct KeyProtectionTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    struct Case: CustomTestStringConvertible {
        /// `CKA_SENSITIVE` and `CKA_EXTRACTABLE` of the template.
        var asked: (sensitive: Bool?, extractable: Bool?)
        var shown: (sensitive: Bool, extractable: Bool)
        var isKept = true

        var testDescription: String { "\(asked) → \(shown), \(isKept ? "kept" : "of a session")" }

        var template: [(CK_ATTRIBUTE_TYPE, [UInt8])] {
            [(CKA_TOKEN, Encoded.bool(isKept))]
                + [(CKA_SENSITIVE, asked.sensitive), (CKA_EXTRACTABLE, asked.extractable)].compactMap { type, flag in
                    flag.map { (type, Encoded.bool($0)) }
                }
        }

        var isReadable: Bool { !shown.sensitive && shown.extractable }

        static let all: [Case] = [
            Case(asked: (nil, nil), shown: (true, true)), Case(asked: (true, nil), shown: (true, true)),
            Case(asked: (true, true), shown: (true, true)), Case(asked: (true, false), shown: (true, false)),
            Case(asked: (false, false), shown: (false, false)), Case(asked: (false, true), shown: (false, true)),
            Case(asked: (nil, nil), shown: (true, false), isKept: false),
            Case(asked: (true, true), shown: (true, true), isKept: false),
            Case(asked: (false, nil), shown: (false, false), isKept: false),
            Case(asked: (false, true), shown: (false, true), isKept: false),
        ]
    }

    private func flag(_ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE, _ type: CK_ATTRIBUTE_TYPE) throws -> Bool {
        try module.value(session, key, type) == Encoded.bool(true)
    }

    private func expect(_ expected: Case, _ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE) throws {
        #expect(try flag(session, key, CKA_SENSITIVE) == expected.shown.sensitive)
        #expect(try flag(session, key, CKA_EXTRACTABLE) == expected.shown.extractable)
        guard expected.isReadable else {
            return #expect(returned { _ = try module.value(session, key, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        }
        let scalar = try module.value(session, key, CKA_VALUE)
        let publicKey = try PublicKey(spki: module.value(session, key, CKA_PUBLIC_KEY_INFO))
        #expect(try PrivateKey(ecScalar: Secret(copying: scalar.span), curve: .ecP256).publicKey == publicKey)
        #expect(returned { _ = try module.value(session, key, CKA_PRIME_1) } == CKR_ATTRIBUTE_TYPE_INVALID)
    }

    private func generate(
        _ session: CK_SESSION_HANDLE, _ template: [(CK_ATTRIBUTE_TYPE, [UInt8])]
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]),
            Template(template.map { (type: $0.0, value: $0.1) }))
    }

    private func create(
        _ session: CK_SESSION_HANDLE, _ template: [(CK_ATTRIBUTE_TYPE, [UInt8])]
    ) throws -> CK_OBJECT_HANDLE {
        let scalar = try PrivateKey.generate(.ecP256).scalar().copy
        let key: [(CK_ATTRIBUTE_TYPE, [UInt8])] = [
            (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
            (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_VALUE, scalar),
        ]
        return try cryptoki.createObject(session, Template((key + template).map { (type: $0.0, value: $0.1) }))
    }

    @Test(arguments: Case.all)
    func aGeneratedKeyWasAlwaysWhatItIs(expected: Case) throws {
        let session = try session()
        let pair = try generate(session, expected.template)
        try expect(expected, session, pair.privateKey)
        #expect(try flag(session, pair.privateKey, CKA_ALWAYS_SENSITIVE) == expected.shown.sensitive)
        #expect(try flag(session, pair.privateKey, CKA_NEVER_EXTRACTABLE) == !expected.shown.extractable)
        // A keychain's key whose numbers were readable from the first cannot be told from an imported one.
        let isLocal = !expected.isKept || !expected.isReadable
        #expect(try flag(session, pair.privateKey, CKA_LOCAL) == isLocal)
        if expected.isKept { #expect(try flag(session, pair.publicKey, CKA_LOCAL) == isLocal) }
    }

    @Test(arguments: Case.all)
    func aKeyThatIsBroughtWasSomethingElseBefore(expected: Case) throws {
        let session = try session()
        let key = try create(session, expected.template)
        try expect(expected, session, key)
        for type in [CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_LOCAL] {
            #expect(try !flag(session, key, type), "\(type)")
        }
    }

    @Test func whatIsKeptIsTheSameForTheNextProgram() throws {
        let first = try session()
        let pair = try generate(first, [(CKA_TOKEN, [1]), (CKA_SENSITIVE, [0]), (CKA_EXTRACTABLE, [0])])
        let id = try module.value(first, pair.privateKey, CKA_ID)
        let item = try #require(try keychain.items(matching: Query(.key, [.keyClass: 1])).found.first)
        #expect(item[.isSensitive] == false && item[.isExtractable] == false && item[.wasNeverExtractable] == true)
        try cryptoki.closeAllSessions(module.slots[0])
        let later = try session()
        let key = try module.key(later, id)
        try expect(Case(asked: (nil, nil), shown: (false, false)), later, key)
        #expect(try flag(later, key, CKA_LOCAL))
    }

    @Test func theNumbersOfAnRSAKeyMakeTheSameKey() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        try keychain.add(.privateKey(key, [:]))
        let session = try session()
        let object = try module.key(session, key.publicKey.keyHash)
        let types = [
            CKA_MODULUS, CKA_PUBLIC_EXPONENT, CKA_PRIVATE_EXPONENT, CKA_PRIME_1, CKA_PRIME_2, CKA_EXPONENT_1,
            CKA_EXPONENT_2, CKA_COEFFICIENT,
        ]
        let numbers = try types.map { (type: $0, value: try module.value(session, object, $0)) }
        #expect(returned { _ = try module.value(session, object, CKA_VALUE) } == CKR_ATTRIBUTE_TYPE_INVALID)
        let copy = try cryptoki.createObject(
            session,
            Template(
                [(CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_RSA))] + numbers
                    + [(CKA_SENSITIVE, [0]), (CKA_EXTRACTABLE, [1])]))
        for (type, value) in numbers { #expect(try module.value(session, copy, type) == value) }
        let signature = try module.sign(session, MechanismRequest(CKM_SHA256_RSA_PKCS), copy, [1, 2, 3])
        try cryptoki.verifyInit(
            session, MechanismRequest(CKM_SHA256_RSA_PKCS),
            key: module.key(session, key.publicKey.keyHash, CKO_PUBLIC_KEY))
        try cryptoki.verify(session, [1, 2, 3], signature: signature)
    }

    @Test func aKeyOfTheKeychainIsShownAsItsItemHasIt() throws {
        let key = try PrivateKey.generate(.ed25519)
        let item = try keychain.add(.privateKey(key, [:]))
        let session = try session()
        let object = try module.key(session, key.publicKey.keyHash)
        #expect(try module.value(session, object, CKA_VALUE) == key.scalar().copy)
        try keychain.update(matching: Query(item.reference), to: ItemChanges([.isSensitive: true]))
        let sensitive = try module.key(session, key.publicKey.keyHash)
        #expect(try flag(session, sensitive, CKA_SENSITIVE) && flag(session, sensitive, CKA_EXTRACTABLE))
        #expect(returned { _ = try module.value(session, sensitive, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        // The handle from before does not read the value either.
        #expect(returned { _ = try module.value(session, object, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
    }

    @Test func aReadableKeyIsNotReadWithoutTheLogin() throws {
        let key = try PrivateKey.generate(.ecP256)
        try keychain.add(.privateKey(key, [:]))
        let session = try session()
        let object = try module.key(session, key.publicKey.keyHash)
        try cryptoki.logOut(session)
        #expect(returned { _ = try module.value(session, object, CKA_VALUE) } != CKR_OK)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).isEmpty)
    }

    @Test func aCopyHasTheHistoryOfItsOriginal() throws {
        let session = try session()
        let open = try generate(session, [(CKA_SENSITIVE, [0]), (CKA_EXTRACTABLE, [1])]).privateKey
        let closed = try generate(session, [(CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0])]).privateKey
        for isKept in [false, true] {
            let changes = Template([
                (CKA_TOKEN, Encoded.bool(isKept)), (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0]),
            ])
            let sealed = try cryptoki.copyObject(session, open, changes)
            #expect(try flag(session, sealed, CKA_SENSITIVE) && !flag(session, sealed, CKA_EXTRACTABLE))
            #expect(try !flag(session, sealed, CKA_ALWAYS_SENSITIVE) && !flag(session, sealed, CKA_NEVER_EXTRACTABLE))
            let same = try cryptoki.copyObject(session, closed, Template([(CKA_TOKEN, Encoded.bool(isKept))]))
            #expect(try flag(session, same, CKA_ALWAYS_SENSITIVE) && flag(session, same, CKA_NEVER_EXTRACTABLE))
            #expect(try flag(session, same, CKA_LOCAL))
        }
    }
}
