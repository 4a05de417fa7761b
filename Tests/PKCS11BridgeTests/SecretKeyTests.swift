import CCryptoki
import CryptokiNames
import HostAPI
import KeychainHost
import KeychainModel
import PKCS11Mechanisms
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Secret keys of a session and of a keychain: how they are made, their attributes, and how they are wrapped.
@Suite struct SecretKeyTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
        session = try module.session(loggedIn: true, pin: "open")
    }

    private typealias Attribute = (type: CK_ATTRIBUTE_TYPE, value: [UInt8])

    private func generate(
        _ mechanism: CK_MECHANISM_TYPE = CKM_AES_KEY_GEN, _ count: CK_ULONG? = 32, _ attributes: [Attribute] = [],
        in other: CK_SESSION_HANDLE? = nil
    ) throws -> CK_OBJECT_HANDLE {
        let length = count.map { [(type: CKA_VALUE_LEN, value: Encoded.ulong($0))] } ?? []
        return try cryptoki.generateKey(other ?? session, MechanismRequest(mechanism), Template(length + attributes))
    }

    private func bring(
        _ value: [UInt8], _ type: CK_KEY_TYPE = CKK_AES, _ attributes: [Attribute] = []
    ) throws -> CK_OBJECT_HANDLE {
        try cryptoki.createObject(
            session,
            Template(
                [
                    (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_KEY_TYPE, Encoded.ulong(type)),
                    (CKA_VALUE, value),
                ] + attributes))
    }

    private func value(_ key: CK_OBJECT_HANDLE, _ type: CK_ATTRIBUTE_TYPE) throws -> [UInt8] {
        try module.value(session, key, type)
    }

    private func isTrue(_ key: CK_OBJECT_HANDLE, _ type: CK_ATTRIBUTE_TYPE) throws -> Bool {
        try value(key, type) == [1]
    }

    // MARK: Generating

    @Test(arguments: [false, true])
    func aKeyIsGeneratedWhereTheTemplateSays(isKept: Bool) throws {
        let place: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
        for count in [16, 24, 32] as [CK_ULONG] {
            let key = try generate(CKM_AES_KEY_GEN, count, [place, (CKA_ID, [UInt8(count)])])
            #expect(try value(key, CKA_VALUE_LEN) == Encoded.ulong(count))
            #expect(try value(key, CKA_VALUE).count == Int(count))
            #expect(try value(key, CKA_KEY_TYPE) == Encoded.ulong(CKK_AES))
            #expect(try value(key, CKA_ID) == [UInt8(count)])
            #expect(try value(key, CKA_TOKEN) == Encoded.bool(isKept))
            let uses = [CKA_ENCRYPT, CKA_DECRYPT, CKA_WRAP, CKA_UNWRAP, CKA_SIGN, CKA_VERIFY, CKA_DERIVE]
            #expect(try uses.map { try isTrue(key, $0) } == [true, true, true, true, false, false, false])
            #expect(try module.find(session, (CKA_ID, [UInt8(count)])) == [key])
        }
        let secret = try generate(CKM_GENERIC_SECRET_KEY_GEN, 20, [place])
        #expect(try value(secret, CKA_KEY_TYPE) == Encoded.ulong(CKK_GENERIC_SECRET))
        #expect(try [CKA_SIGN, CKA_VERIFY, CKA_ENCRYPT].map { try isTrue(secret, $0) } == [true, true, false])
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.count == (isKept ? 4 : 0))
        let first = try generate(CKM_AES_KEY_GEN, 32, [place])
        #expect(try value(first, CKA_VALUE) != value(generate(CKM_AES_KEY_GEN, 32, [place]), CKA_VALUE))
    }

    @Test func aKeyOfTheKeychainIsThereForTheNextProgramAndOneOfTheSessionIsNot() throws {
        let kept = try generate(CKM_AES_KEY_GEN, 16, [(CKA_TOKEN, [1]), (CKA_LABEL, Encoded.text("kept"))])
        let bytes = try value(kept, CKA_VALUE)
        _ = try generate(CKM_AES_KEY_GEN, 16, [(CKA_LABEL, Encoded.text("gone"))])
        let other = try TestModule(sharing: module)
        let next = try other.session(loggedIn: true, pin: "open")
        let found = try other.find(next, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)))
        #expect(found.count == 1)
        #expect(try other.value(next, #require(found.first), CKA_VALUE) == bytes)
        #expect(try other.value(next, #require(found.first), CKA_LABEL) == Encoded.text("kept"))
        // A secret key is found only after a login.
        try other.cryptoki.logOut(next)
        #expect(try other.find(next, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))).isEmpty)
    }

    @Test(arguments: [false, true])
    func whereAKeyComesFromAndWhatItWasKeptFromIsTold(isKept: Bool) throws {
        func check(_ key: CK_OBJECT_HANDLE, local: Bool, always: Bool, never: Bool) throws {
            let types = [CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE]
            #expect(try types.map { try isTrue(key, $0) } == [local, always, never])
            let mechanism = Encoded.ulong(local ? CKM_AES_KEY_GEN : CK_ULONG.max)
            #expect(try value(key, CKA_KEY_GEN_MECHANISM) == mechanism)
        }
        let place: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
        let closed: [Attribute] = [place, (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0])]
        try check(generate(CKM_AES_KEY_GEN, 16, closed), local: true, always: true, never: true)
        let sensitive = try generate(CKM_AES_KEY_GEN, 16, [place, (CKA_SENSITIVE, [1])])
        try check(sensitive, local: true, always: true, never: false)
        let brought = try bring([UInt8](repeating: 1, count: 16), CKK_AES, closed)
        try check(brought, local: false, always: false, never: false)
        #expect(try [CKA_SENSITIVE, CKA_EXTRACTABLE].map { try isTrue(brought, $0) } == [true, false])
        // A copy has the history of the key that was generated.
        let copy = try cryptoki.copyObject(
            session, generate(CKM_AES_KEY_GEN, 16, closed), Template([(CKA_LABEL, [65])]))
        try check(copy, local: true, always: true, never: true)
    }

    @Test(arguments: [false, true])
    func aSensitiveKeyTellsItsBytesToNobody(isKept: Bool) throws {
        let place: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
        for protection in [(CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0])] as [Attribute] {
            let key = try generate(CKM_AES_KEY_GEN, 32, [place, protection])
            #expect(returned { _ = try value(key, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        }
    }

    @Test func aTemplateThatCannotBeIsRefusedAndNothingIsMade() throws {
        let cases: [(CK_MECHANISM_TYPE, CK_ULONG?, [Attribute], CK_RV)] = [
            (CKM_AES_KEY_GEN, nil, [], CKR_TEMPLATE_INCOMPLETE),
            (CKM_GENERIC_SECRET_KEY_GEN, nil, [], CKR_TEMPLATE_INCOMPLETE),
            (CKM_AES_KEY_GEN, 15, [], CKR_ATTRIBUTE_VALUE_INVALID),
            (CKM_AES_KEY_GEN, 17, [], CKR_ATTRIBUTE_VALUE_INVALID),
            (CKM_GENERIC_SECRET_KEY_GEN, 0, [], CKR_ATTRIBUTE_VALUE_INVALID),
            (CKM_GENERIC_SECRET_KEY_GEN, .max, [], CKR_ATTRIBUTE_VALUE_INVALID),
            // A keychain does not store a key that is too short for an authentication code.
            (CKM_GENERIC_SECRET_KEY_GEN, 8, [(CKA_TOKEN, [1])], CKR_ATTRIBUTE_VALUE_INVALID),
            (CKM_AES_KEY_GEN, 16, [(CKA_VALUE, [1])], CKR_TEMPLATE_INCONSISTENT),
            (CKM_AES_KEY_GEN, 16, [(CKA_KEY_TYPE, Encoded.ulong(CKK_DES3))], CKR_TEMPLATE_INCONSISTENT),
            (CKM_AES_KEY_GEN, 16, [(CKA_CLASS, Encoded.ulong(CKO_DATA))], CKR_TEMPLATE_INCONSISTENT),
            (CKM_AES_KEY_GEN, 16, [(CKA_LOCAL, [1])], CKR_ATTRIBUTE_READ_ONLY),
            (CKM_AES_KEY_GEN, 16, [(CKA_MODULUS, [1])], CKR_ATTRIBUTE_TYPE_INVALID),
            (CKM_AES_KEY_GEN, 16, [(CKA_ENCRYPT, [1, 1])], CKR_ATTRIBUTE_VALUE_INVALID),
            (CKM_SHA256, 16, [], CKR_MECHANISM_INVALID), (CKM_AES_CBC, 16, [], CKR_MECHANISM_INVALID),
            (CKM_EC_KEY_PAIR_GEN, 16, [], CKR_MECHANISM_INVALID),
        ]
        for (index, row) in cases.enumerated() {
            #expect(returned { _ = try generate(row.0, row.1, row.2) } == row.3, "\(index)")
        }
        let parameter = MechanismRequest(CKM_AES_KEY_GEN, .bytes([1]))
        let length = Template([(CKA_VALUE_LEN, Encoded.ulong(16))])
        #expect(
            returned { _ = try cryptoki.generateKey(session, parameter, length) } == CKR_MECHANISM_PARAM_INVALID)
        let reader = try cryptoki.openSession(module.slots[0], flags: CKF_SERIAL_SESSION)
        let kept: [Attribute] = [(CKA_TOKEN, [1])]
        #expect(returned { _ = try generate(CKM_AES_KEY_GEN, 16, kept, in: reader) } == CKR_SESSION_READ_ONLY)
        try cryptoki.logOut(session)
        #expect(returned { _ = try generate(CKM_AES_KEY_GEN, 16, kept) } == CKR_USER_NOT_LOGGED_IN)
        #expect(try module.find(session, (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY))).isEmpty)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
    }

    @Test func aKeyOfTheKeychainIsRenamedAndDestroyed() throws {
        let key = try generate(CKM_AES_KEY_GEN, 16, [(CKA_TOKEN, [1]), (CKA_ID, [1])])
        try cryptoki.setAttributes(session, key, to: Template([(CKA_LABEL, Encoded.text("new")), (CKA_ID, [2])]))
        #expect(try value(key, CKA_LABEL) == Encoded.text("new"))
        #expect(try module.find(session, (CKA_ID, [2])) == [key])
        #expect(try module.find(session, (CKA_ID, [1])).isEmpty)
        #expect(
            returned { try cryptoki.setAttributes(session, key, to: Template([(CKA_ENCRYPT, [0])])) }
                == CKR_ATTRIBUTE_READ_ONLY)
        try cryptoki.destroyObject(session, key)
        #expect(try keychain.items(matching: Query(.key, [:], limit: .all)).found.isEmpty)
    }

    /// The tag of a secret key must not take the id from a pair with the same one.
    @Test func aSecretKeyAndAPairMayHaveOneId() throws {
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]),
            Template([(CKA_TOKEN, [1]), (CKA_ID, [1])]))
        for _ in 0..<2 { _ = try generate(CKM_AES_KEY_GEN, 16, [(CKA_TOKEN, [1]), (CKA_ID, [1])]) }
        #expect(try value(pair.privateKey, CKA_ID) == [1])
        #expect(try module.find(session, (CKA_ID, [1])).count == 4)
    }

    @Test func aKeyThatSecItemMadeIsUsedByItsBytes() throws {
        let given: Attributes = [.label: "theirs", .canWrap: false, .applicationLabel: .data([9, 9])]
        try keychain.add(.symmetricKey(KeyType.aes.randomKey(bits: 256), given))
        let key = try #require(module.find(session, (CKA_LABEL, Encoded.text("theirs"))).first)
        #expect(try value(key, CKA_ID) == [9, 9])
        #expect(try [CKA_ENCRYPT, CKA_WRAP].map { try isTrue(key, $0) } == [true, false])
        let other = try generate()
        let wrap = returned {
            _ = try cryptoki.wrapKey(session, MechanismRequest(CKM_AES_KEY_WRAP), wrapping: key, key: other, .query)
        }
        #expect(wrap == CKR_KEY_FUNCTION_NOT_PERMITTED)
    }

    // MARK: Wrapping

    /// RFC 3394 §4.6, RFC 5649 §6.
    @Test(
        arguments: [
            (
                CKM_AES_KEY_WRAP, "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F",
                "00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F",
                "28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326CBC7F0E71A99F43BFB988B9B7A02DD21"
            ),
            (
                CKM_AES_KEY_WRAP_KWP, "5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8",
                "c37b7e6492584340bed12207808941155068f738",
                "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a"
            ),
        ] as [(CK_MECHANISM_TYPE, String, String, String)])
    func keysAreWrappedWithAES(mechanism: CK_MECHANISM_TYPE, wrapper: String, key: String, wrapped: String) throws {
        let request = MechanismRequest(mechanism)
        for isKept in [false, true] {
            let place: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
            let wrapping = try bring(.init(hex: wrapper), CKK_AES, [place])
            // A sensitive key may be wrapped.
            let secret = try bring(.init(hex: key), CKK_GENERIC_SECRET, [place, (CKA_SENSITIVE, [1])])
            func wrap(_ room: OutputCapacity) throws -> Output {
                try cryptoki.wrapKey(session, request, wrapping: wrapping, key: secret, room)
            }
            let count = [UInt8](hex: wrapped).count
            #expect(try length(of: wrap(.query)) == count)
            #expect(try length(of: wrap(.bytes(count - 1))) == count)
            #expect(try bytes(of: wrap(.bytes(count))) == .init(hex: wrapped))
            let back = try cryptoki.unwrapKey(
                session, request, unwrapping: wrapping, .init(hex: wrapped),
                Template([(CKA_KEY_TYPE, Encoded.ulong(CKK_GENERIC_SECRET)), place]))
            #expect(try value(back, CKA_VALUE) == .init(hex: key))
            #expect(try value(back, CKA_TOKEN) == Encoded.bool(isKept))
            #expect(try [CKA_LOCAL, CKA_ALWAYS_SENSITIVE].map { try isTrue(back, $0) } == [false, false])
        }
    }

    @Test func whatCannotBeWrappedIsNot() throws {
        let wrapper = try generate()
        func wrap(_ key: CK_OBJECT_HANDLE, with other: CK_OBJECT_HANDLE? = nil, _ type: CK_MECHANISM_TYPE) -> CK_RV {
            returned {
                _ = try cryptoki.wrapKey(
                    session, MechanismRequest(type), wrapping: other ?? wrapper, key: key, .bytes(100))
            }
        }
        let (wrap3394, wrap5649) = (CKM_AES_KEY_WRAP, CKM_AES_KEY_WRAP_KWP)
        #expect(wrap(try generate(CKM_AES_KEY_GEN, 16, [(CKA_EXTRACTABLE, [0])]), wrap3394) == CKR_KEY_UNEXTRACTABLE)
        let short = try generate(CKM_GENERIC_SECRET_KEY_GEN, 15)
        #expect(wrap(short, wrap3394) == CKR_KEY_SIZE_RANGE)
        #expect(wrap(short, wrap5649) == CKR_OK)
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]), Template())
        #expect(wrap(pair.privateKey, wrap3394) == CKR_KEY_NOT_WRAPPABLE)
        #expect(wrap(4711, wrap3394) == CKR_KEY_HANDLE_INVALID)
        #expect(wrap(wrapper, with: 4711, wrap3394) == CKR_WRAPPING_KEY_HANDLE_INVALID)
        #expect(wrap(wrapper, with: pair.publicKey, wrap3394) == CKR_WRAPPING_KEY_TYPE_INCONSISTENT)
        #expect(wrap(wrapper, with: short, wrap3394) == CKR_WRAPPING_KEY_TYPE_INCONSISTENT)
        let idle = try generate(CKM_AES_KEY_GEN, 16, [(CKA_WRAP, [0]), (CKA_UNWRAP, [0])])
        #expect(wrap(wrapper, with: idle, wrap3394) == CKR_KEY_FUNCTION_NOT_PERMITTED)
        let parameter = MechanismRequest(wrap3394, .bytes([1]))
        #expect(
            returned { _ = try cryptoki.wrapKey(session, parameter, wrapping: wrapper, key: wrapper, .query) }
                == CKR_MECHANISM_PARAM_INVALID)

        func unwrap(_ wrapped: [UInt8], with other: CK_OBJECT_HANDLE? = nil, _ attributes: Attribute...) -> CK_RV {
            returned {
                _ = try cryptoki.unwrapKey(
                    session, MechanismRequest(wrap3394), unwrapping: other ?? wrapper, wrapped, Template(attributes))
            }
        }
        let wrapped = try bytes(
            of: cryptoki.wrapKey(
                session, MechanismRequest(wrap3394), wrapping: wrapper, key: generate(), .bytes(100)))
        #expect(unwrap(Array(wrapped.dropLast())) == CKR_WRAPPED_KEY_LEN_RANGE)
        #expect(unwrap([UInt8](repeating: 1, count: 24)) == CKR_WRAPPED_KEY_INVALID)
        #expect(unwrap(wrapped, with: idle) == CKR_KEY_FUNCTION_NOT_PERMITTED)
        #expect(unwrap(wrapped, with: short) == CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT)
        #expect(unwrap(wrapped, with: 4711) == CKR_UNWRAPPING_KEY_HANDLE_INVALID)
        #expect(unwrap(wrapped, (CKA_VALUE_LEN, Encoded.ulong(16))) == CKR_TEMPLATE_INCONSISTENT)
        #expect(
            unwrap(wrapped, (CKA_TOKEN, [1]), (CKA_KEY_TYPE, Encoded.ulong(CKK_DES3))) == CKR_TEMPLATE_INCONSISTENT)
    }

    @Test func aKeyOfTheKeychainIsWrappedWithAPublicKey() throws {
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_RSA_PKCS_KEY_PAIR_GEN), Template([(CKA_MODULUS_BITS, Encoded.ulong(2048))]),
            Template())
        let key = try generate(CKM_AES_KEY_GEN, 32, [(CKA_TOKEN, [1])])
        let request = MechanismRequest(CKM_RSA_PKCS)
        let wrapped = try bytes(
            of: cryptoki.wrapKey(session, request, wrapping: pair.publicKey, key: key, .bytes(256)))
        let back = try cryptoki.unwrapKey(
            session, request, unwrapping: pair.privateKey, wrapped,
            Template([(CKA_KEY_TYPE, Encoded.ulong(CKK_AES)), (CKA_TOKEN, [1]), (CKA_LABEL, Encoded.text("back"))]))
        #expect(try value(back, CKA_VALUE) == value(key, CKA_VALUE))
        #expect(try keychain.symmetricKeys(.label("back")).count == 1)
    }

    @Test func aCopyIsForTheSessionOrForTheKeychain() throws {
        let original = try generate(CKM_AES_KEY_GEN, 32, [(CKA_LABEL, Encoded.text("one"))])
        let kept = try cryptoki.copyObject(session, original, Template([(CKA_TOKEN, [1]), (CKA_SENSITIVE, [1])]))
        #expect(try isTrue(kept, CKA_TOKEN))
        #expect(returned { _ = try value(kept, CKA_VALUE) } == CKR_ATTRIBUTE_SENSITIVE)
        let third = try cryptoki.copyObject(session, kept, Template([(CKA_TOKEN, [0])]))
        #expect(try [CKA_TOKEN, CKA_SENSITIVE].map { try isTrue(third, $0) } == [false, true])
        let bytes = try keychain.symmetricKeys(.label("one")).map {
            try $0.material(use: "", authentication: AuthenticationContext(prompter: NoPrompter())).copy
        }
        #expect(try bytes == [value(original, CKA_VALUE)])
    }

    // MARK: Digests

    @Test func aKeyIsAPartOfWhatIsDigested() throws {
        for isKept in [false, true] {
            let place: Attribute = (CKA_TOKEN, Encoded.bool(isKept))
            let key = try bring(Array("the bytes of key".utf8), CKK_AES, [place, (CKA_SENSITIVE, [1])])
            try cryptoki.digestInit(session, MechanismRequest(CKM_SHA256))
            try cryptoki.digestUpdate(session, Array("before ".utf8))
            try cryptoki.digestKey(session, key: key)
            try cryptoki.digestUpdate(session, Array(" after".utf8))
            let digest = try bytes(of: cryptoki.digestFinal(session, .bytes(32)))
            #expect(try digest == Digest.hash(Array("before the bytes of key after".utf8), using: .sha256))
        }
        let pair = try cryptoki.generateKeyPair(
            session, MechanismRequest(CKM_EC_KEY_PAIR_GEN),
            Template([(CKA_EC_PARAMS, KeyKind.ecP256.curveParameters ?? [])]), Template())
        #expect(returned { try cryptoki.digestKey(session, key: pair.publicKey) } == CKR_OPERATION_NOT_INITIALIZED)
        for (key, code) in [(pair.publicKey, CKR_KEY_INDIGESTIBLE), (4711, CKR_KEY_HANDLE_INVALID)] {
            try cryptoki.digestInit(session, MechanismRequest(CKM_SHA256))
            #expect(returned { try cryptoki.digestKey(session, key: key) } == code)
            #expect(returned { try cryptoki.digestUpdate(session, [1]) } == CKR_OPERATION_NOT_INITIALIZED)
        }
    }

    // MARK: Cards

    /// A mechanism that a card does not have is not listed for it, and cannot be begun.
    @Test func mechanismsOfSecretKeysAreThoseOfKeychains() throws {
        let own = try TestModule(VirtualReader(card: try Cards.plain()))
        let onCard = try own.session(loggedIn: true)
        let types = MechanismTable.rows.filter { row in
            switch row.use {
            case .secretKey, .hmac, .cipher, .keyWrap: true
            default: false
            }
        }.map(\.type)
        #expect(types.count == 18)
        let (card, chain) = (try own.cryptoki.mechanisms(own.slots[0]), try cryptoki.mechanisms(module.slots[0]))
        for type in types {
            #expect(!card.contains { $0.type == type })
            #expect(chain.count { $0.type == type } == 1)
            #expect(returned { _ = try own.cryptoki.mechanism(type, of: own.slots[0]) } == CKR_MECHANISM_INVALID)
        }
        #expect(try cryptoki.mechanism(CKM_AES_GCM, of: module.slots[0]).keySizes == 16...32)
        #expect(try cryptoki.mechanism(CKM_AES_KEY_GEN, of: module.slots[0]).flags == CKF_GENERATE)
        #expect(try cryptoki.mechanism(CKM_SHA256_HMAC, of: module.slots[0]).flags == CKF_SIGN | CKF_VERIFY)
        let length = Template([(CKA_VALUE_LEN, Encoded.ulong(16))])
        let generated = returned {
            _ = try own.cryptoki.generateKey(onCard, MechanismRequest(CKM_AES_KEY_GEN), length)
        }
        #expect(generated == CKR_MECHANISM_INVALID)
        let kept = Template([(CKA_VALUE_LEN, Encoded.ulong(16)), (CKA_TOKEN, [1])])
        let written = returned {
            _ = try own.cryptoki.generateKey(onCard, MechanismRequest(CKM_AES_KEY_GEN), kept)
        }
        #expect(written == CKR_TOKEN_WRITE_PROTECTED)
    }
}
