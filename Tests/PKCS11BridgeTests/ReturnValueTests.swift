import CCryptoki
import CryptokiNames
import Foundation
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PKCS11Bridge

/// Invalid calls get the return values of the standard.
@Suite struct ReturnValueTests {
    private let module: TestModule
    private let session: CK_SESSION_HANDLE
    private let noSession: CK_SESSION_HANDLE = 4_711

    init() throws {
        module = try TestModule(VirtualReader(card: try Cards.mixed()))
        session = try module.session(loggedIn: true)
    }

    private var cryptoki: Cryptoki { module.cryptoki }

    @Test func everyFunctionOfASessionKnowsThatThereIsNone() {
        let calls: [() throws -> Void] = [
            { try cryptoki.closeSession(noSession) }, { _ = try cryptoki.sessionInfo(noSession) },
            { try cryptoki.logIn(noSession, CKU_USER, pin: .of("123456")) }, { try cryptoki.logOut(noSession) },
            { try cryptoki.setPIN(noSession, from: .of("123456"), to: .of("123457")) },
            { try cryptoki.findObjectsInit(noSession, Template()) },
            { _ = try cryptoki.findObjects(noSession, limit: 1) }, { try cryptoki.findObjectsFinal(noSession) },
            { _ = try cryptoki.reader(of: 1, in: noSession) }, { _ = try cryptoki.objectSize(1, in: noSession) },
            { _ = try cryptoki.createObject(noSession, Template()) }, { try cryptoki.destroyObject(noSession, 1) },
            { try cryptoki.setAttributes(noSession, 1, to: Template()) },
            { try cryptoki.signInit(noSession, MechanismRequest(CKM_ECDSA), key: 1) },
            { _ = try cryptoki.sign(noSession, [], .query) }, { try cryptoki.signUpdate(noSession, []) },
            { _ = try cryptoki.signFinal(noSession, .query) },
            { try cryptoki.verifyInit(noSession, MechanismRequest(CKM_ECDSA), key: 1) },
            { try cryptoki.verify(noSession, [], signature: []) }, { try cryptoki.verifyUpdate(noSession, []) },
            { try cryptoki.verifyFinal(noSession, signature: []) },
            { try cryptoki.encryptInit(noSession, MechanismRequest(CKM_RSA_PKCS), key: 1) },
            { _ = try cryptoki.encrypt(noSession, .of("a"), .query) },
            { _ = try cryptoki.encryptUpdate(noSession, .of(""), .bytes(0)) },
            { _ = try cryptoki.encryptFinal(noSession, .query) },
            { try cryptoki.decryptInit(noSession, MechanismRequest(CKM_RSA_PKCS), key: 1) },
            { _ = try cryptoki.decrypt(noSession, [], .query) },
            { _ = try cryptoki.decryptUpdate(noSession, [], .bytes(0)) },
            { _ = try cryptoki.decryptFinal(noSession, .query) },
            { try cryptoki.digestInit(noSession, MechanismRequest(CKM_SHA256)) },
            { _ = try cryptoki.digest(noSession, [], .query) }, { try cryptoki.digestUpdate(noSession, []) },
            { _ = try cryptoki.digestFinal(noSession, .query) },
            {
                _ = try cryptoki.generateKeyPair(
                    noSession, MechanismRequest(CKM_EC_KEY_PAIR_GEN), Template(), Template())
            },
            { _ = try cryptoki.deriveKey(noSession, MechanismRequest(CKM_ECDH1_DERIVE), base: 1, Template()) },
            { _ = try cryptoki.wrapKey(noSession, MechanismRequest(CKM_RSA_PKCS), wrapping: 1, key: 1, .query) },
            { _ = try cryptoki.unwrapKey(noSession, MechanismRequest(CKM_RSA_PKCS), unwrapping: 1, [], Template()) },
            { _ = try cryptoki.generateKey(noSession, MechanismRequest(CKM_AES_KEY_GEN), Template()) },
            { try cryptoki.digestKey(noSession, key: 1) },
            { _ = try cryptoki.random(noSession, count: 1) }, { try cryptoki.cancel(noSession, flags: .max) },
        ]
        for (index, call) in calls.enumerated() {
            #expect(returned(call) == CKR_SESSION_HANDLE_INVALID, "call \(index)")
        }
    }

    @Test func everyFunctionOfASlotKnowsThatThereIsNone() {
        let calls: [() throws -> Void] = [
            { _ = try cryptoki.slotInfo(9) }, { _ = try cryptoki.tokenInfo(9) }, { _ = try cryptoki.mechanisms(9) },
            { _ = try cryptoki.mechanism(CKM_ECDSA, of: 9) },
            { _ = try cryptoki.openSession(9, flags: CKF_SERIAL_SESSION) },
            { try cryptoki.closeAllSessions(9) },
        ]
        for call in calls { #expect(returned(call) == CKR_SLOT_ID_INVALID) }
    }

    @Test func nothingGoesOnThatWasNotBegun() {
        let calls: [() throws -> Void] = [
            { _ = try cryptoki.sign(session, [], .query) }, { try cryptoki.signUpdate(session, []) },
            { _ = try cryptoki.signFinal(session, .query) }, { try cryptoki.verify(session, [], signature: []) },
            { try cryptoki.verifyUpdate(session, []) }, { try cryptoki.verifyFinal(session, signature: []) },
            { _ = try cryptoki.encrypt(session, .of("a"), .query) },
            { _ = try cryptoki.encryptUpdate(session, .of(""), .bytes(0)) },
            { _ = try cryptoki.encryptFinal(session, .query) }, { _ = try cryptoki.decrypt(session, [], .query) },
            { _ = try cryptoki.decryptUpdate(session, [], .bytes(0)) },
            { _ = try cryptoki.decryptFinal(session, .query) },
            { _ = try cryptoki.digest(session, [], .query) }, { try cryptoki.digestUpdate(session, []) },
            { _ = try cryptoki.digestFinal(session, .query) }, { _ = try cryptoki.findObjects(session, limit: 1) },
            { try cryptoki.findObjectsFinal(session) },
        ]
        for call in calls { #expect(returned(call) == CKR_OPERATION_NOT_INITIALIZED) }
    }

    @Test func sessionsAreSerial() {
        let result = returned { _ = try cryptoki.openSession(module.slots[0], flags: CKF_RW_SESSION) }
        #expect(result == CKR_SESSION_PARALLEL_NOT_SUPPORTED)
    }

    @Test func aKeyIsUsedForWhatItIs() throws {
        let (rsa, ec) = (try module.key(session, [1]), try module.key(session, [2]))
        let (publicKey, certificate) = (
            try module.key(session, [1], CKO_PUBLIC_KEY), try module.key(session, [1], CKO_CERTIFICATE)
        )
        func sign(_ type: CK_MECHANISM_TYPE, _ key: CK_OBJECT_HANDLE) -> CK_RV {
            returned { try cryptoki.signInit(session, MechanismRequest(type), key: key) }
        }
        #expect(sign(CKM_ECDSA, rsa) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_RSA_PKCS, ec) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_RSA_PKCS, publicKey) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_RSA_PKCS, certificate) == CKR_KEY_HANDLE_INVALID)
        #expect(sign(CKM_RSA_PKCS, 0) == CKR_KEY_HANDLE_INVALID)
        #expect(sign(CKM_AES_CBC, rsa) == CKR_MECHANISM_INVALID)
        #expect(sign(.max, rsa) == CKR_MECHANISM_INVALID)
        let decrypt = returned { try cryptoki.decryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: ec) }
        #expect(decrypt == CKR_KEY_FUNCTION_NOT_PERMITTED)
        let derive = returned {
            _ = try cryptoki.deriveKey(session, MechanismRequest(CKM_ECDH1_DERIVE), base: rsa, Template())
        }
        #expect(derive == CKR_KEY_TYPE_INCONSISTENT)
        let encrypt = returned { try cryptoki.encryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: rsa) }
        #expect(encrypt == CKR_KEY_TYPE_INCONSISTENT)
    }

    @Test func aMechanismHasItsParameterAndNoOther() throws {
        let (rsa, ec, agreeing) = (
            try module.key(session, [1]), try module.key(session, [2]), try module.key(session, [3])
        )
        func sign(_ request: MechanismRequest, _ key: CK_OBJECT_HANDLE) -> CK_RV {
            returned { try cryptoki.signInit(session, request, key: key) }
        }
        #expect(sign(MechanismRequest(CKM_RSA_PKCS, .bytes([1])), rsa) == CKR_MECHANISM_PARAM_INVALID)
        #expect(sign(MechanismRequest(CKM_ECDSA, .bytes([1])), ec) == CKR_MECHANISM_PARAM_INVALID)
        #expect(sign(MechanismRequest(CKM_RSA_PKCS_PSS), rsa) == CKR_MECHANISM_PARAM_INVALID)
        let wrong: [MechanismRequest.Parameter] = [
            .pss(hash: CKM_SHA256, mgf: 99, saltLength: 32), .pss(hash: 99, mgf: CKG_MGF1_SHA256, saltLength: 32),
            .pss(hash: CKM_SHA256, mgf: CKG_MGF1_SHA256, saltLength: .max),
            .pss(hash: CKM_SHA256, mgf: CKG_MGF1_SHA256, saltLength: 223),
        ]
        for parameter in wrong {
            #expect(sign(MechanismRequest(CKM_RSA_PKCS_PSS, parameter), rsa) == CKR_MECHANISM_PARAM_INVALID)
        }
        let other = MechanismRequest.Parameter.pss(hash: CKM_SHA_1, mgf: CKG_MGF1_SHA1, saltLength: 20)
        #expect(sign(MechanismRequest(CKM_SHA256_RSA_PKCS_PSS, other), rsa) == CKR_MECHANISM_PARAM_INVALID)
        let points: [[UInt8]] = [[], [4], [UInt8](repeating: 4, count: 97), [UInt8](repeating: 0, count: 65)]
        for point in points {
            let request = MechanismRequest(
                CKM_ECDH1_DERIVE, .agreement(kdf: CKD_NULL, sharedInfo: [], publicData: point))
            let result = returned { _ = try cryptoki.deriveKey(session, request, base: agreeing, Template()) }
            #expect(result == CKR_MECHANISM_PARAM_INVALID)
        }
    }

    @Test func inputThatDoesNotFitIsRefusedBeforeTheCardIsAsked() throws {
        let rsa = try module.key(session, [1])
        module.reader.clearLog()
        let digest = [UInt8](repeating: 1, count: 31)
        let pss = MechanismRequest(CKM_RSA_PKCS_PSS, .pss(hash: CKM_SHA256, mgf: CKG_MGF1_SHA256, saltLength: 32))
        let inputs: [(MechanismRequest, [UInt8])] = [
            (MechanismRequest(CKM_RSA_PKCS), [UInt8](repeating: 1, count: 246)),
            (MechanismRequest(CKM_RSA_X_509), [UInt8](repeating: 1, count: 257)), (MechanismRequest(CKM_RSA_X_509), []),
            (pss, digest),
        ]
        for (request, input) in inputs {
            #expect(returned { _ = try module.sign(session, request, rsa, input) } == CKR_DATA_LEN_RANGE)
        }
        try cryptoki.decryptInit(session, MechanismRequest(CKM_RSA_PKCS), key: rsa)
        let short = returned { _ = try cryptoki.decrypt(session, [1, 2, 3], .bytes(256)) }
        #expect(short == CKR_ENCRYPTED_DATA_LEN_RANGE)
        #expect(module.reader.log.isEmpty)
    }

    @Test func onePartAndManyAreNotMixed() throws {
        let key = try module.key(session, [1])
        try cryptoki.signInit(session, MechanismRequest(CKM_SHA256_RSA_PKCS), key: key)
        try cryptoki.signUpdate(session, [1])
        let again = returned { try cryptoki.signInit(session, MechanismRequest(CKM_SHA256_RSA_PKCS), key: key) }
        #expect(again == CKR_OPERATION_ACTIVE)
        #expect(returned { _ = try cryptoki.sign(session, [1], .bytes(256)) } == CKR_OPERATION_ACTIVE)
        // The error has ended the operation.
        try cryptoki.signInit(session, MechanismRequest(CKM_SHA256_RSA_PKCS), key: key)
        try cryptoki.cancel(session, flags: CKF_SIGN)
        #expect(returned { try cryptoki.signUpdate(session, [1]) } == CKR_OPERATION_NOT_INITIALIZED)
    }

    @Test func aCallInOneEndsWhatWasBegunInParts() throws {
        let (publicKey, key) = (try module.key(session, [1], CKO_PUBLIC_KEY), try module.key(session, [1]))
        let request = MechanismRequest(CKM_RSA_PKCS)
        try cryptoki.encryptInit(session, request, key: publicKey)
        _ = try cryptoki.encryptUpdate(session, .of("a"), .bytes(0))
        #expect(returned { _ = try cryptoki.encrypt(session, .of("a"), .bytes(256)) } == CKR_OPERATION_ACTIVE)
        #expect(
            returned { _ = try cryptoki.encryptUpdate(session, .of("a"), .bytes(0)) } == CKR_OPERATION_NOT_INITIALIZED)
        try cryptoki.decryptInit(session, request, key: key)
        _ = try cryptoki.decryptUpdate(session, [1], .bytes(0))
        #expect(returned { _ = try cryptoki.decrypt(session, [1], .bytes(256)) } == CKR_OPERATION_ACTIVE)
        #expect(returned { _ = try cryptoki.decryptUpdate(session, [1], .bytes(0)) } == CKR_OPERATION_NOT_INITIALIZED)
    }

    /// PKCS #11 §5.10.4, and the same rule for the other kinds of operations.
    @Test func aQuestionForTheLengthInOneCallIsNotGoneOnWithInParts() throws {
        let (publicKey, key) = (try module.key(session, [1], CKO_PUBLIC_KEY), try module.key(session, [1]))
        let (rsa, sha) = (MechanismRequest(CKM_RSA_PKCS), MechanismRequest(CKM_SHA256))
        let block = [UInt8](repeating: 1, count: 256)
        let cases: [(begin: () throws -> Void, ask: () throws -> Int?, finish: () throws -> Void)] = [
            (
                { try cryptoki.digestInit(session, sha) }, { try length(of: cryptoki.digest(session, [1], .query)) },
                { _ = try cryptoki.digestFinal(session, .bytes(256)) }
            ),
            (
                { try cryptoki.digestInit(session, sha) },
                { try length(of: cryptoki.digest(session, [1], .bytes(2))) },
                { try cryptoki.digestUpdate(session, [1]) }
            ),
            (
                { try cryptoki.signInit(session, rsa, key: key) },
                { try length(of: cryptoki.sign(session, [1], .query)) },
                { _ = try cryptoki.signFinal(session, .bytes(256)) }
            ),
            (
                { try cryptoki.encryptInit(session, rsa, key: publicKey) },
                { try length(of: cryptoki.encrypt(session, .of("a"), .query)) },
                { _ = try cryptoki.encryptFinal(session, .bytes(256)) }
            ),
            (
                { try cryptoki.decryptInit(session, rsa, key: key) },
                { try length(of: cryptoki.decrypt(session, block, .query)) },
                { _ = try cryptoki.decryptFinal(session, .bytes(256)) }
            ),
        ]
        for (index, row) in cases.enumerated() {
            try row.begin()
            #expect(try row.ask() ?? 0 > 0)
            #expect(returned(row.finish) == CKR_OPERATION_ACTIVE, "\(index)")
            #expect(returned(row.finish) == CKR_OPERATION_NOT_INITIALIZED, "\(index)")
        }
    }

    @Test func aMechanismThatNobodyHasIsJudgedBeforeTheKey() throws {
        let secret = try cryptoki.createObject(
            session, Template([(CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_VALUE, [1, 2, 3])]))
        let unknown = MechanismRequest(1 << 31 | 999)
        let calls: [() throws -> Void] = [
            { try cryptoki.signInit(session, unknown, key: secret) },
            { try cryptoki.verifyInit(session, unknown, key: secret) },
            { try cryptoki.encryptInit(session, unknown, key: secret) },
            { try cryptoki.decryptInit(session, unknown, key: secret) },
            { _ = try cryptoki.wrapKey(session, unknown, wrapping: secret, key: secret, .query) },
            { _ = try cryptoki.unwrapKey(session, unknown, unwrapping: secret, [], Template()) },
            { _ = try cryptoki.deriveKey(session, unknown, base: secret, Template()) },
        ]
        for (index, call) in calls.enumerated() { #expect(returned(call) == CKR_MECHANISM_INVALID, "\(index)") }
        // A known mechanism, for another kind of key.
        #expect(
            returned { try cryptoki.signInit(session, MechanismRequest(CKM_RSA_PKCS), key: secret) }
                == CKR_KEY_TYPE_INCONSISTENT)
    }

    @Test func noMechanismEndsWhatWasBegun() throws {
        let key = try module.key(session, [1])
        for flag in [CKF_SIGN, CKF_VERIFY, CKF_ENCRYPT, CKF_DECRYPT, CKF_DIGEST] {
            #expect(returned { try cryptoki.cancelBegun(session, flag) } == CKR_ARGUMENTS_BAD)
        }
        try cryptoki.signInit(session, MechanismRequest(CKM_RSA_PKCS), key: key)
        try cryptoki.signUpdate(session, [1])
        try cryptoki.cancelBegun(session, CKF_SIGN)
        try cryptoki.signInit(session, MechanismRequest(CKM_RSA_PKCS), key: key)
        #expect(returned { try cryptoki.cancelBegun(session, CKF_DIGEST) } == CKR_ARGUMENTS_BAD)
    }

    @Test(arguments: [UInt8(0), 1, 0xFF])
    func noBytesOfASignaturesLengthAreAnyOtherErrorThanAWrongSignature(fill: UInt8) throws {
        let keys: [(CK_OBJECT_HANDLE, [CK_MECHANISM_TYPE], Int)] = [
            (try module.key(session, [1], CKO_PUBLIC_KEY), [CKM_RSA_PKCS, CKM_RSA_X_509, CKM_SHA256_RSA_PKCS], 256),
            (try module.key(session, [2], CKO_PUBLIC_KEY), [CKM_ECDSA, CKM_ECDSA_SHA256], 64),
        ]
        for (key, mechanisms, length) in keys {
            for type in mechanisms {
                try cryptoki.verifyInit(session, MechanismRequest(type), key: key)
                let signature = [UInt8](repeating: fill, count: length)
                let result = returned {
                    try cryptoki.verify(session, [UInt8](repeating: 7, count: 32), signature: signature)
                }
                #expect(result == CKR_SIGNATURE_INVALID, "\(type)")
            }
        }
    }

    @Test func aNewPINWithOtherCharactersIsInvalidAndNotTooLong() throws {
        let generic = try TestModule(VirtualReader(card: try Cards.plain()))
        let session = try generic.session()
        func change(_ old: String, _ new: String) -> CK_RV {
            returned { try generic.cryptoki.setPIN(session, from: .of(old), to: .of(new)) }
        }
        #expect(change("123456", "abcdef") == CKR_PIN_INVALID)
        #expect(change("123456", "12345") == CKR_PIN_LEN_RANGE)
        #expect(change("12", "123456") == CKR_PIN_LEN_RANGE)
        #expect(generic.reader.pinsSent == 0)
    }

    @Test func everyReturnValueHasItsNameForMessagesAndTheLog() throws {
        let header = try String(contentsOfFile: "/usr/include/p11-kit-1/p11-kit/pkcs11.h", encoding: .utf8)
        let definitions = header.matches(of: /#define\s+(CKR_[A-Z0-9_]+)\s+\((?:0x)?([0-9a-fA-F]+)UL\)/)
        #expect(definitions.count > 80)
        for definition in definitions {
            let code = try #require(UInt(definition.2, radix: 16))
            #expect(CryptokiReturnValue.name(of: code) == definition.1)
        }
        #expect(CryptokiReturnValue.name(of: CKR_OPERATION_CANCEL_FAILED) == "CKR_OPERATION_CANCEL_FAILED")
        #expect(CryptokiReturnValue.name(of: 0x8000_ABCD) == "CKR 0x8000ABCD")
    }

    @Test func whateverIsThrownWithoutAReasonHasAMeaningForTheLog() throws {
        let header = try String(contentsOfFile: "/usr/include/p11-kit-1/p11-kit/pkcs11.h", encoding: .utf8)
        let codes = Dictionary(
            header.matches(of: /#define\s+(CKR_[A-Z0-9_]+)\s+\((?:0x)?([0-9a-fA-F]+)UL\)/)
                .map { (String($0.1), UInt($0.2, radix: 16)) }, uniquingKeysWith: { first, _ in first })
        var bare: Set<String> = []
        for target in ["PKCS11Bridge", "PKCS11Module"] {
            let folder = Program.packageRoot.appending(path: "Sources/\(target)")
            for file in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? []
            where file.hasSuffix(".swift") {
                let text = try Repository.text("Sources/\(target)/\(file)")
                bare.formUnion(text.matches(of: /CryptokiError\((CKR_[A-Z_]+)\)/).map { String($0.1) })
            }
        }
        #expect(bare.count > 20)
        for name in bare {
            let code = try #require(codes[name] ?? nil)
            #expect(CryptokiError(code).description.hasPrefix(name + ": "), "\(name)")
        }
    }
}
