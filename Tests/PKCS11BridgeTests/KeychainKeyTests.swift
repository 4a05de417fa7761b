import CCryptoki
import CryptokiNames
import KeychainHost
import KeychainModel
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PKCS11Bridge

/// The keys of a keychain and of its sessions: the ids by which programs find them, and their lifetime.
@Suite struct KeychainKeyTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
    }

    // MARK: Ids

    private func generate(
        _ session: CK_SESSION_HANDLE, _ privateID: [UInt8]?, publicID: [UInt8]? = nil
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        let template = { (id: [UInt8]?) in id.map { [(type: CKA_ID, value: $0)] } ?? [] }
        return try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])] + template(publicID)),
            Template([(CKA_TOKEN, [1])] + template(privateID)))
    }

    private func hash(_ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE) throws -> [UInt8] {
        try PublicKey(spki: module.value(session, key, CKA_PUBLIC_KEY_INFO)).keyHash
    }

    @Test(arguments: [([1], nil), (nil, [1]), ([1], [1])] as [([UInt8]?, [UInt8]?)])
    func anIdGivenToEitherHalfIsThatOfBothAndOfTheirCertificate(ids: ([UInt8]?, [UInt8]?)) throws {
        let session = try session()
        let pair = try generate(session, ids.0, publicID: ids.1)
        let key = try PublicKey(spki: module.value(session, pair.publicKey, CKA_PUBLIC_KEY_INFO))
        try keychain.add(
            .certificate(
                CertificateBuilder(
                    commonName: "anna", publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000
                ).selfSigned(by: PrivateKey.generate(.ecP256))))
        // The key hash finds the objects as well: URIs may have it from the time before they had an id of their own.
        for id in [[1], key.keyHash] {
            let found = try module.find(session, (CKA_ID, id))
            #expect(try found.map { try module.value(session, $0, CKA_ID) } == [[1], [1], [1]])
        }
        _ = try module.sign(session, MechanismRequest(CKM_ECDSA_SHA256), module.key(session, [1]), [1, 2, 3])
    }

    @Test func halvesWithDifferentIdsAreNotGenerated() throws {
        let session = try session()
        #expect(returned { _ = try generate(session, [1], publicID: [2]) } == CKR_TEMPLATE_INCONSISTENT)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))).isEmpty)
    }

    @Test func anIdThatTwoKeysHaveTellsNeitherFromTheOther() throws {
        let session = try session()
        let pairs = try [generate(session, [1]), generate(session, [1])]
        #expect(try module.find(session, (CKA_ID, [1])).isEmpty)
        for pair in pairs {
            let hash = try hash(session, pair.privateKey)
            let found = try module.find(session, (CKA_ID, hash))
            #expect(try found.map { try module.value(session, $0, CKA_ID) } == [hash, hash])
        }
    }

    @Test func aKeyIsBroughtWithItsId() throws {
        let session = try session()
        let key = try PrivateKey.generate(.ecP256)
        let external = try key.externalRepresentation().copy
        _ = try cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_VALUE, Array(external.suffix(32))),
                (CKA_ID, [0x41, 0x42]),
            ]))
        #expect(try hash(session, module.key(session, [0x41, 0x42])) == key.publicKey.keyHash)
        #expect(try keychain.items(matching: Query(.key, [.applicationTag: "AB"])).found.count == 1)
    }

    @Test func aKeyIsThereOnceWhateverIdItComesWith() throws {
        let session = try session()
        let key = try PrivateKey.generate(.ecP256)
        let curve = (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])
        let halves = [
            (CKO_PRIVATE_KEY, (CKA_VALUE, try key.scalar().copy)),
            (CKO_PUBLIC_KEY, (CKA_EC_POINT, Encoded.octetString(key.publicKey.rawRepresentation))),
        ]
        func create(_ half: (CK_OBJECT_CLASS, (CK_ATTRIBUTE_TYPE, [UInt8])), _ id: UInt8, _ label: String) -> CK_RV {
            let attributes = [
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(half.0)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)), curve,
                half.1, (CKA_ID, [id]), (CKA_LABEL, Encoded.text(label)),
            ]
            return returned {
                _ = try cryptoki.createObject(session, Template(attributes.map { (type: $0.0, value: $0.1) }))
            }
        }
        for half in halves {
            #expect(create(half, 0x66, "a") == CKR_OK)
            for (id, label) in [(0x66, "a"), (0x66, "b"), (0x67, "a")] as [(UInt8, String)] {
                #expect(create(half, id, label) == CKR_ATTRIBUTE_VALUE_INVALID)
            }
        }
        #expect(try module.find(session, (CKA_ID, [0x66])).count == 2)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.count == 2)
    }

    @Test func itemsOfOneKeyAreToldApartByTheirLabels() throws {
        let (key, other) = (try PrivateKey.generate(.ecP256), try PrivateKey.generate(.ecP256))
        for (name, label) in [("1", "a"), ("2", "a (2)"), ("3", "a")] as [(AttributeValue, AttributeValue)] {
            try keychain.add(.privateKey(key, [.label: label, .applicationTag: name]))
        }
        try keychain.add(.publicKey(key.publicKey, [.label: "a"]))
        try keychain.add(.privateKey(other, [.label: "a"]))
        let session = try session()
        func labels(_ hash: [UInt8], _ objectClass: CK_OBJECT_CLASS) throws -> [String] {
            try module.find(session, (CKA_CLASS, Encoded.ulong(objectClass)), (CKA_ID, hash)).map {
                String(decoding: try module.value(session, $0, CKA_LABEL), as: UTF8.self)
            }
        }
        #expect(try labels(key.publicKey.keyHash, CKO_PRIVATE_KEY) == ["a", "a (2)", "a (3)"])
        #expect(try labels(key.publicKey.keyHash, CKO_PUBLIC_KEY) == ["a"])
        #expect(try labels(other.publicKey.keyHash, CKO_PRIVATE_KEY) == ["a"])
    }

    /// `keytool` names the objects of an entry after they are made.
    @Test(arguments: [CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY])
    func anIdIsChangedWithWhateverBelongsToTheKey(objectClass: CK_OBJECT_CLASS) throws {
        let key = try addIdentity("anna")
        let other = try addIdentity("bert")
        let session = try session()
        let object = try module.key(session, key.publicKey.keyHash, objectClass)
        let template = Template([(CKA_ID, [7]), (CKA_LABEL, Array("new".utf8))])
        try cryptoki.setAttributes(session, object, to: template)
        #expect(try module.value(session, object, CKA_ID) == [7])
        #expect(try module.value(session, object, CKA_LABEL) == Array("new".utf8))
        #expect(try module.find(session, (CKA_ID, [7])).count == 3)
        #expect(try module.find(session, (CKA_ID, other.publicKey.keyHash)).count == 3)
        try cryptoki.setAttributes(session, object, to: Template([(CKA_ID, key.publicKey.keyHash)]))
        #expect(try module.find(session, (CKA_ID, [7])).isEmpty)
        #expect(try module.value(session, object, CKA_ID) == key.publicKey.keyHash)
    }

    @Test func aCertificateHasAnIdOfItsOwnUntilItsKeyComesWithAnother() throws {
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "anna", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: key)
        let session = try session()
        let object = try cryptoki.createObject(
            session,
            Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_ID, [0x21]),
                (CKA_VALUE, certificate.der),
            ]))
        #expect(try module.value(session, object, CKA_ID) == [0x21])
        func change(_ id: [UInt8]) -> CK_RV {
            returned { try cryptoki.setAttributes(session, object, to: Template([(CKA_ID, id)])) }
        }
        #expect(change([]) == CKR_ATTRIBUTE_VALUE_INVALID)
        #expect(change([0x22]) == CKR_OK)
        #expect(try module.find(session, (CKA_ID, [0x22])) == [object])
        try keychain.add(.privateKey(key, [.applicationTag: .data([0x23])]))
        #expect(try module.find(session, (CKA_ID, [0x23])).count == 3)
        #expect(try module.value(session, object, CKA_ID) == [0x23])
    }

    @Test func everyHandleOfAPairTellsTheIdThatItsOtherHalfWasGiven() throws {
        let session = try session()
        let pair = try generate(session, [0x0A])
        try cryptoki.setAttributes(session, pair.privateKey, to: Template([(CKA_ID, [0x0B])]))
        #expect(try module.value(session, pair.publicKey, CKA_ID) == [0x0B])
    }

    @Test func aPasswordHasNoIdToChange() throws {
        try keychain.add(.genericPassword([.account: "anna"], secret: .of("x")))
        let session = try session()
        let object = try #require(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_DATA))).first)
        let code = returned { try cryptoki.setAttributes(session, object, to: Template([(CKA_ID, [1])])) }
        #expect(code == CKR_ATTRIBUTE_TYPE_INVALID)
    }

    // MARK: Keys of a session

    private static let sign = MechanismRequest(CKM_ECDSA_SHA256)

    /// Generates a pair without `CKA_TOKEN`, as Java does for keys of a connection.
    private func generateForSession(
        _ session: CK_SESSION_HANDLE, _ attributes: (type: CK_ATTRIBUTE_TYPE, value: [UInt8])...
    ) throws -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]), Template(attributes))
    }

    @Test func aPairForASessionSignsAndLeavesNothingBehind() throws {
        let session = try session()
        let pair = try generateForSession(session)
        #expect(try module.value(session, pair.privateKey, CKA_TOKEN) == [0])
        #expect(try module.value(session, pair.privateKey, CKA_LOCAL) == [1])
        #expect(returned { _ = try module.value(session, pair.privateKey, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        let signature = try module.sign(session, Self.sign, pair.privateKey, [1, 2, 3])
        try cryptoki.verifyInit(session, Self.sign, key: pair.publicKey)
        try cryptoki.verify(session, [1, 2, 3], signature: signature)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
        let other = try module.session()
        try cryptoki.closeSession(session)
        #expect(returned { try cryptoki.signInit(other, Self.sign, key: pair.privateKey) } == CKR_KEY_HANDLE_INVALID)
    }

    @Test func aKeyOfASessionIsKeptByCopyingIt() throws {
        let session = try session()
        let pair = try generateForSession(session)
        let copy = try cryptoki.copyObject(
            session, pair.privateKey,
            Template([(CKA_TOKEN, [1]), (CKA_ID, [7]), (CKA_LABEL, Array("kept".utf8))]))
        try cryptoki.closeAllSessions(module.slots[0])
        let later = try self.session()
        #expect(try module.key(later, [7]) == copy)
        #expect(try module.value(later, copy, CKA_LABEL) == Array("kept".utf8))
        _ = try module.sign(later, Self.sign, copy, [1])
    }

    @Test func aKeyThatIsBroughtForASessionAgreesOnSecrets() throws {
        let session = try session()
        let key = try PrivateKey.generate(.ecP256)
        let external = try key.externalRepresentation().copy
        let object = try cryptoki.createObject(
            session,
            Template([
                (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_KEY_TYPE, Encoded.ulong(CKK_EC)),
                (CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_VALUE, Array(external.suffix(32))),
            ]))
        let peer = try PrivateKey.generate(.ecP256)
        let request = MechanismRequest(
            CKM_ECDH1_DERIVE,
            .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: peer.publicKey.rawRepresentation))
        let derived = try cryptoki.deriveKey(session, request, base: object, Template())
        #expect(try module.value(session, derived, CKA_VALUE) == peer.sharedSecret(with: key.publicKey).copy)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
    }

    /// PKCS #11 §5.6.10.
    @Test func whatIsTheUsersOfASessionEndsWithTheLogin() throws {
        let session = try session()
        let pair = try generateForSession(session)
        let secret = Template([(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1, 2]), (CKA_PRIVATE, [1])])
        let own = try cryptoki.createObject(session, secret)
        #expect(try module.value(session, own, CKA_PRIVATE) == [1])
        try cryptoki.logOut(session)
        #expect(returned { _ = try cryptoki.createObject(session, secret) } == CKR_USER_NOT_LOGGED_IN)
        #expect(returned { _ = try generateForSession(session, (CKA_PRIVATE, [1])) } == CKR_USER_NOT_LOGGED_IN)
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        for object in [own, pair.privateKey] {
            #expect(returned { _ = try module.value(session, object, CKA_CLASS) } == CKR_OBJECT_HANDLE_INVALID)
        }
        #expect(try module.value(session, pair.publicKey, CKA_CLASS) == Encoded.ulong(CKO_PUBLIC_KEY))
    }

    @Test func whatIsNotKeptAsItIsAskedForIsNotKept() throws {
        let session = try session()
        for isKept in [[0], [1]] as [[UInt8]] {
            let always = returned {
                _ = try generateForSession(session, (CKA_TOKEN, isKept), (CKA_ALWAYS_AUTHENTICATE, [1]))
            }
            #expect(always == CKR_TEMPLATE_INCONSISTENT)
        }
        let sizes: [(CK_KEY_TYPE, Int, CK_RV)] = [
            (CKK_AES, 16, CKR_OK), (CKK_AES, 15, CKR_ATTRIBUTE_VALUE_INVALID),
            (CKK_AES, 33, CKR_ATTRIBUTE_VALUE_INVALID),
            (CKK_GENERIC_SECRET, 15, CKR_OK), (CKK_GENERIC_SECRET, 0, CKR_ATTRIBUTE_VALUE_INVALID),
        ]
        for (type, count, code) in sizes {
            let template = Template([
                (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_KEY_TYPE, Encoded.ulong(type)),
                (CKA_VALUE, [UInt8](repeating: 1, count: count)),
            ])
            #expect(returned { _ = try cryptoki.createObject(session, template) } == code, "\(type) \(count)")
        }
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "anna", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: key)
        let wrong: [((CK_ATTRIBUTE_TYPE, [UInt8]), CK_RV)] = [
            ((CKA_TRUSTED, [1]), CKR_ATTRIBUTE_READ_ONLY), ((CKA_SUBJECT, [0x30, 0]), CKR_TEMPLATE_INCONSISTENT),
        ]
        for (attribute, code) in wrong {
            let template = Template([
                (CKA_TOKEN, [1]), (CKA_CLASS, Encoded.ulong(CKO_CERTIFICATE)), (CKA_VALUE, certificate.der),
                (type: attribute.0, value: attribute.1),
            ])
            #expect(returned { _ = try cryptoki.createObject(session, template) } == code)
        }
        let long = String(repeating: "x", count: 256)
        #expect(returned { try cryptoki.setPIN(session, from: .of("open"), to: .of(long)) } == CKR_PIN_LEN_RANGE)
    }

    /// `pk12util` sets the subject before it stores the certificate.
    @Test func aKeyIsGivenTheSubjectOfTheCertificateThatComesNext() throws {
        let session = try session()
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? []), (CKA_TOKEN, [1])]),
            Template([(CKA_TOKEN, [1])]))
        let template = Template([(CKA_LABEL, Array("mine".utf8)), (CKA_ID, [7]), (CKA_SUBJECT, [0x30, 0])])
        try cryptoki.setAttributes(session, pair.privateKey, to: template)
        #expect(try module.value(session, pair.privateKey, CKA_ID) == [7])
        #expect(try module.value(session, pair.privateKey, CKA_LABEL) == Array("mine".utf8))
    }

    @Test func whatMayNotDecryptDoesNotUnwrapUnlessItIsSaid() throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        try keychain.add(.privateKey(key, [.label: "closed", .canDecrypt: false]))
        try keychain.add(
            .privateKey(try .generate(.rsa(bits: 2048)), [.label: "open", .canDecrypt: false, .canUnwrap: true]))
        let session = try session()
        for (label, unwraps) in [("closed", false), ("open", true)] {
            let found = try module.find(
                session, (CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY)), (CKA_LABEL, Array(label.utf8)))
            let handle = try #require(found.first)
            #expect(try module.value(session, handle, CKA_DECRYPT) == Encoded.bool(false))
            #expect(try module.value(session, handle, CKA_UNWRAP) == Encoded.bool(unwraps))
        }
    }
}
