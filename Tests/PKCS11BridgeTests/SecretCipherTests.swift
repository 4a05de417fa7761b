import CCryptoki
import KeychainHost
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import PKCS11Bridge

/// HMAC and AES with secret keys, of a session and of a keychain, whole and in parts.
@Suite struct SecretCipherTests: KeychainTokenTest {
    let module: TestModule
    let keychain: LocalKeychain
    private let session: CK_SESSION_HANDLE

    init() throws {
        module = try TestModule()
        keychain = try module.keychain()
        session = try module.session(loggedIn: true, pin: "open")
    }

    private func bring(
        _ value: [UInt8], _ type: CK_KEY_TYPE = CKK_AES, isKept: Bool = false,
        _ attributes: (type: CK_ATTRIBUTE_TYPE, value: [UInt8])...
    ) throws -> CK_OBJECT_HANDLE {
        try cryptoki.createObject(
            session,
            Template(
                [
                    (CKA_CLASS, Encoded.ulong(CKO_SECRET_KEY)), (CKA_KEY_TYPE, Encoded.ulong(type)),
                    (CKA_VALUE, value), (CKA_TOKEN, Encoded.bool(isKept)),
                ] + attributes))
    }

    // MARK: HMAC

    /// RFC 2202 §3 and RFC 4231 §4.3, test case 2.
    private static let codes: [(type: CK_MECHANISM_TYPE, general: CK_MECHANISM_TYPE, code: String)] = [
        (CKM_SHA_1_HMAC, CKM_SHA_1_HMAC_GENERAL, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (
            CKM_SHA224_HMAC, CKM_SHA224_HMAC_GENERAL, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"
        ),
        (
            CKM_SHA256_HMAC, CKM_SHA256_HMAC_GENERAL,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            CKM_SHA384_HMAC, CKM_SHA384_HMAC_GENERAL,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"
        ),
        (
            CKM_SHA512_HMAC, CKM_SHA512_HMAC_GENERAL,
            """
            164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
            caeab1a34d4a6b4b636e070a38bce737
            """
        ),
    ]

    @Test(arguments: codes)
    func codesAreMadeAndCheckedWholeAndInParts(row: (CK_MECHANISM_TYPE, CK_MECHANISM_TYPE, String)) throws {
        let message = Array("what do ya want for nothing?".utf8)
        let key = try bring(Array("Jefe".utf8), CKK_GENERIC_SECRET)
        let full = [UInt8](hex: row.2)
        let requests = [
            (MechanismRequest(row.0), full), (MechanismRequest(row.1, .codeLength(10)), Array(full.prefix(10))),
        ]
        for (request, code) in requests {
            try cryptoki.signInit(session, request, key: key)
            #expect(try length(of: cryptoki.sign(session, message, .query)) == code.count)
            #expect(try length(of: cryptoki.sign(session, message, .bytes(code.count - 1))) == code.count)
            #expect(try bytes(of: cryptoki.sign(session, message, .bytes(64))) == code)
            try cryptoki.signInit(session, request, key: key)
            for byte in message { try cryptoki.signUpdate(session, [byte]) }
            #expect(try bytes(of: cryptoki.signFinal(session, .bytes(64))) == code)
            func verify(_ code: [UInt8], inParts: Bool) throws -> CK_RV {
                try cryptoki.verifyInit(session, request, key: key)
                guard inParts else { return returned { try cryptoki.verify(session, message, signature: code) } }
                for byte in message { try cryptoki.verifyUpdate(session, [byte]) }
                return returned { try cryptoki.verifyFinal(session, signature: code) }
            }
            for inParts in [false, true] {
                #expect(try verify(code, inParts: inParts) == CKR_OK)
                let wrong = Array(code.dropLast()) + [code[code.count - 1] ^ 1]
                #expect(try verify(wrong, inParts: inParts) == CKR_SIGNATURE_INVALID)
                #expect(try verify(Array(code.dropLast()), inParts: inParts) == CKR_SIGNATURE_LEN_RANGE)
            }
        }
        for wrong in [0, CK_ULONG(full.count + 1), .max] {
            let result = returned {
                try cryptoki.signInit(session, MechanismRequest(row.1, .codeLength(wrong)), key: key)
            }
            #expect(result == CKR_MECHANISM_PARAM_INVALID)
        }
        #expect(
            returned { try cryptoki.signInit(session, MechanismRequest(row.0, .bytes([1])), key: key) }
                == CKR_MECHANISM_PARAM_INVALID)
    }

    @Test func aKeyOfTheKeychainMakesTheCodesOfItsBytes() throws {
        let bytes = Array(0..<32) as [UInt8]
        let key = try bring(bytes, CKK_GENERIC_SECRET, isKept: true, (CKA_SENSITIVE, [1]), (CKA_EXTRACTABLE, [0]))
        let code = try module.sign(session, MechanismRequest(CKM_SHA256_HMAC), key, [1, 2, 3])
        #expect(try code == HMAC.code(for: [1, 2, 3], key: Secret(copying: bytes.span)))
    }

    @Test func aKeyIsUsedAsItsKindAndItsTemplateHaveIt() throws {
        let (aes, secret) = (try bring(Array(0..<16)), try bring(Array(0..<16), CKK_GENERIC_SECRET))
        let hmac = try bring(Array(0..<16), CKK_SHA256_HMAC)
        let vector = MechanismRequest(CKM_AES_CBC, .bytes([UInt8](repeating: 0, count: 16)))
        func sign(_ type: CK_MECHANISM_TYPE, _ key: CK_OBJECT_HANDLE) -> CK_RV {
            returned { try cryptoki.signInit(session, MechanismRequest(type), key: key) }
        }
        #expect(sign(CKM_SHA256_HMAC, aes) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_SHA256_HMAC, hmac) == CKR_OK)
        #expect(sign(CKM_SHA_1_HMAC, hmac) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_SHA256_HMAC, 4711) == CKR_KEY_HANDLE_INVALID)
        #expect(sign(CKM_ECDSA, secret) == CKR_KEY_TYPE_INCONSISTENT)
        #expect(sign(CKM_AES_CBC, aes) == CKR_MECHANISM_INVALID)
        #expect(
            returned { try cryptoki.encryptInit(session, vector, key: secret) } == CKR_KEY_TYPE_INCONSISTENT)
        for isKept in [false, true] {
            let idle = try bring(
                Array(0..<16), CKK_AES, isKept: isKept, (CKA_ENCRYPT, [0]), (CKA_DECRYPT, [0]))
            let mute = try bring(
                Array(0..<16), CKK_GENERIC_SECRET, isKept: isKept, (CKA_SIGN, [0]), (CKA_VERIFY, [0]))
            let hmac = MechanismRequest(CKM_SHA256_HMAC)
            let calls: [() throws -> Void] = [
                { try cryptoki.encryptInit(session, vector, key: idle) },
                { try cryptoki.decryptInit(session, vector, key: idle) },
                { try cryptoki.signInit(session, hmac, key: mute) },
                { try cryptoki.verifyInit(session, hmac, key: mute) },
            ]
            for call in calls { #expect(returned(call) == CKR_KEY_FUNCTION_NOT_PERMITTED) }
        }
    }

    // MARK: AES

    private static let key128 = "2b7e151628aed2a6abf7158809cf4f3c"
    private static let gcmKey = "feffe9928665731c6d6a8f9467308308"

    /// SP 800-38A §F.2.1 and §F.5.1; test case 4 of the GCM specification.
    private static let ciphers: [(request: MechanismRequest, key: String, plaintext: String, ciphertext: String)] = [
        (
            MechanismRequest(CKM_AES_CBC, .bytes(Array(0..<16))), key128,
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
        ),
        (
            MechanismRequest(CKM_AES_CTR, .counter(bits: 128, block: Array(0xF0...0xFF))), key128,
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51",
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
        ),
        (
            MechanismRequest(
                CKM_AES_GCM,
                .gcm(
                    nonce: .init(hex: "cafebabefacedbaddecaf888"),
                    associatedData: .init(hex: "feedfacedeadbeeffeedfacedeadbeefabaddad2"), tagBits: 128)), gcmKey,
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
            b16aedf5aa0de657ba637b39
            """,
            """
            42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05\
            1ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47
            """
        ),
    ]

    private func encrypt(
        _ request: MechanismRequest, _ key: CK_OBJECT_HANDLE, _ plaintext: [UInt8], part: Int
    ) throws -> [UInt8] {
        try cryptoki.encryptInit(session, request, key: key)
        var ciphertext: [UInt8] = []
        for start in stride(from: 0, to: plaintext.count, by: part) {
            let piece = Array(plaintext[start..<min(start + part, plaintext.count)])
            // Neither a question for the length nor too little room consumes the data.
            let needed = try length(of: cryptoki.encryptUpdate(session, Secret(copying: piece.span), .query)) ?? -1
            if needed > 0 {
                let short = try cryptoki.encryptUpdate(session, Secret(copying: piece.span), .bytes(needed - 1))
                #expect(length(of: short) == needed)
            }
            let output = try bytes(of: cryptoki.encryptUpdate(session, Secret(copying: piece.span), .bytes(needed)))
            #expect(output.count == needed)
            ciphertext += output
        }
        let needed = try length(of: cryptoki.encryptFinal(session, .query)) ?? -1
        if needed > 0 { #expect(try length(of: cryptoki.encryptFinal(session, .bytes(needed - 1))) == needed) }
        return try ciphertext + bytes(of: cryptoki.encryptFinal(session, .bytes(needed)))
    }

    private func decrypt(
        _ request: MechanismRequest, _ key: CK_OBJECT_HANDLE, _ ciphertext: [UInt8], part: Int
    ) throws -> [UInt8] {
        try cryptoki.decryptInit(session, request, key: key)
        var plaintext: [UInt8] = []
        for start in stride(from: 0, to: ciphertext.count, by: part) {
            let piece = Array(ciphertext[start..<min(start + part, ciphertext.count)])
            let needed = try length(of: cryptoki.decryptUpdate(session, piece, .query)) ?? -1
            if needed > 0 {
                #expect(try length(of: cryptoki.decryptUpdate(session, piece, .bytes(needed - 1))) == needed)
            }
            plaintext += try bytes(of: cryptoki.decryptUpdate(session, piece, .bytes(needed)))
            // No plaintext is returned before the tag was checked.
            if request.type == CKM_AES_GCM { #expect(plaintext.isEmpty) }
        }
        let most = try length(of: cryptoki.decryptFinal(session, .query)) ?? -1
        return try plaintext + bytes(of: cryptoki.decryptFinal(session, .bytes(most)))
    }

    @Test(arguments: 0..<ciphers.count, [false, true])
    func knownAnswersWholeAndInParts(index: Int, isKept: Bool) throws {
        let row = Self.ciphers[index]
        let (plaintext, ciphertext) = ([UInt8](hex: row.plaintext), [UInt8](hex: row.ciphertext))
        let key = try bring(.init(hex: row.key), isKept: isKept)
        try cryptoki.encryptInit(session, row.request, key: key)
        func encrypt(_ room: OutputCapacity) throws -> Output {
            try cryptoki.encrypt(session, Secret(copying: plaintext.span), room)
        }
        #expect(try length(of: encrypt(.query)) == ciphertext.count)
        #expect(try length(of: encrypt(.bytes(ciphertext.count - 1))) == ciphertext.count)
        #expect(try bytes(of: encrypt(.bytes(ciphertext.count))) == ciphertext)
        #expect(returned { _ = try encrypt(.query) } == CKR_OPERATION_NOT_INITIALIZED)
        try cryptoki.decryptInit(session, row.request, key: key)
        #expect(try length(of: cryptoki.decrypt(session, ciphertext, .query)) == plaintext.count)
        #expect(try length(of: cryptoki.decrypt(session, ciphertext, .bytes(plaintext.count - 1))) == plaintext.count)
        #expect(try bytes(of: cryptoki.decrypt(session, ciphertext, .bytes(plaintext.count))) == plaintext)
        for part in [1, 15, 16, 17, 200] {
            #expect(try self.encrypt(row.request, key, plaintext, part: part) == ciphertext)
            #expect(try decrypt(row.request, key, ciphertext, part: part) == plaintext)
        }
    }

    @Test(arguments: [0, 1, 15, 16, 33])
    func paddedDataOfAnyLengthComesBack(count: Int) throws {
        let key = try bring(Array(0..<24))
        let request = MechanismRequest(CKM_AES_CBC_PAD, .bytes([UInt8](repeating: 9, count: 16)))
        let plaintext = [UInt8](repeating: 65, count: count)
        let ciphertext = try encrypt(request, key, plaintext, part: 7)
        #expect(ciphertext.count == count / 16 * 16 + 16)
        #expect(try decrypt(request, key, ciphertext, part: 7) == plaintext)
        try cryptoki.decryptInit(session, request, key: key)
        // The length of the padding is known only after decryption.
        #expect(try length(of: cryptoki.decrypt(session, ciphertext, .query)) == ciphertext.count)
        if count > 0 { #expect(try length(of: cryptoki.decrypt(session, ciphertext, .bytes(count - 1))) == count) }
        #expect(try bytes(of: cryptoki.decrypt(session, ciphertext, .bytes(count))) == plaintext)
    }

    @Test func dataAndParametersHaveTheirLengths() throws {
        let key = try bring(Array(0..<16))
        let block = [UInt8](repeating: 0, count: 16)
        func begin(_ type: CK_MECHANISM_TYPE, _ parameter: MechanismRequest.Parameter) -> CK_RV {
            returned { try cryptoki.encryptInit(session, MechanismRequest(type, parameter), key: key) }
        }
        for type in [CKM_AES_CBC, CKM_AES_CBC_PAD] {
            for wrong in [.none, .bytes([]), .bytes(Array(block.dropLast())), .bytes(block + [0]), .codeLength(16)]
                as [MechanismRequest.Parameter]
            {
                #expect(begin(type, wrong) == CKR_MECHANISM_PARAM_INVALID)
            }
        }
        for (bits, count) in [(0, 16), (129, 16), (128, 15)] as [(CK_ULONG, Int)] {
            let parameter = MechanismRequest.Parameter.counter(bits: bits, block: Array(block.prefix(count)))
            #expect(begin(CKM_AES_CTR, parameter) == CKR_MECHANISM_PARAM_INVALID)
        }
        for (count, bits) in [(0, 128), (12, 127), (12, 88), (12, 136), (65, 128)] as [(Int, CK_ULONG)] {
            let nonce = [UInt8](repeating: 1, count: count)
            let parameter = MechanismRequest.Parameter.gcm(nonce: nonce, associatedData: [], tagBits: bits)
            #expect(begin(CKM_AES_GCM, parameter) == CKR_MECHANISM_PARAM_INVALID)
        }
        let cbc = MechanismRequest(CKM_AES_CBC, .bytes(block))
        try cryptoki.encryptInit(session, cbc, key: key)
        #expect(returned { _ = try cryptoki.encrypt(session, .of("short"), .bytes(64)) } == CKR_DATA_LEN_RANGE)
        for type in [CKM_AES_CBC, CKM_AES_CBC_PAD] {
            try cryptoki.decryptInit(session, MechanismRequest(type, .bytes(block)), key: key)
            let whole = returned { _ = try cryptoki.decrypt(session, [1, 2, 3], .bytes(64)) }
            #expect(whole == CKR_ENCRYPTED_DATA_LEN_RANGE)
            try cryptoki.decryptInit(session, MechanismRequest(type, .bytes(block)), key: key)
            _ = try cryptoki.decryptUpdate(session, [1, 2, 3], .bytes(64))
            #expect(
                returned { _ = try cryptoki.decryptFinal(session, .bytes(64)) } == CKR_ENCRYPTED_DATA_LEN_RANGE)
        }
        try cryptoki.decryptInit(session, MechanismRequest(CKM_AES_CBC_PAD, .bytes(block)), key: key)
        #expect(returned { _ = try cryptoki.decrypt(session, block, .bytes(64)) } == CKR_ENCRYPTED_DATA_INVALID)
    }

    /// A counter that runs over would go on in the nonce's bits, and use a key stream twice.
    @Test func aShortCounterDoesNotRunOver() throws {
        let key = try bring(Array(0..<16))
        var block = [UInt8](repeating: 0xFF, count: 16)
        block[15] = 0xFE
        for (bits, count, code) in [(8, 32, CKR_OK), (8, 33, CKR_DATA_LEN_RANGE), (1, 32, CKR_OK), (128, 64, CKR_OK)]
            as [(CK_ULONG, Int, CK_RV)]
        {
            let request = MechanismRequest(CKM_AES_CTR, .counter(bits: bits, block: block))
            try cryptoki.encryptInit(session, request, key: key)
            let data = Secret(copying: [UInt8](repeating: 0, count: count).span)
            let result = returned { _ = try cryptoki.encrypt(session, data.clone(), .bytes(100)) }
            #expect(result == code, "\(bits) \(count)")
            if code == CKR_OK { #expect(returned { _ = try cryptoki.encryptFinal(session, .query) } != CKR_OK) }
        }
    }

    @Test func whatWasChangedIsNotDecryptedByGCM() throws {
        let row = Self.ciphers[2]
        let key = try bring(.init(hex: row.key))
        let ciphertext = [UInt8](hex: row.ciphertext)
        for index in [0, ciphertext.count - 1] {
            var changed = ciphertext
            changed[index] ^= 1
            try cryptoki.decryptInit(session, row.request, key: key)
            #expect(
                returned { _ = try cryptoki.decrypt(session, changed, .bytes(100)) } == CKR_ENCRYPTED_DATA_INVALID)
            #expect(returned { _ = try decrypt(row.request, key, changed, part: 16) } == CKR_ENCRYPTED_DATA_INVALID)
        }
        try cryptoki.decryptInit(session, row.request, key: key)
        #expect(returned { _ = try cryptoki.decrypt(session, [1], .bytes(100)) } == CKR_ENCRYPTED_DATA_INVALID)
    }

    @Test func whatIsDoneWithAKeyOfTheUserEndsWithTheLogin() throws {
        let (aes, secret) = (
            try bring(Array(0..<16), isKept: true), try bring(Array(0..<16), CKK_GENERIC_SECRET, isKept: true)
        )
        let vector = MechanismRequest(CKM_AES_CBC, .bytes([UInt8](repeating: 0, count: 16)))
        func begin() throws {
            try cryptoki.encryptInit(session, vector, key: aes)
            try cryptoki.decryptInit(session, vector, key: aes)
            try cryptoki.signInit(session, MechanismRequest(CKM_SHA256_HMAC), key: secret)
            try cryptoki.verifyInit(session, MechanismRequest(CKM_SHA256_HMAC), key: secret)
        }
        let calls: [() throws -> Void] = [
            { _ = try cryptoki.encryptUpdate(session, .of("a"), .bytes(16)) },
            { _ = try cryptoki.decryptUpdate(session, [1], .bytes(16)) },
            { _ = try cryptoki.sign(session, [1], .bytes(64)) },
            { try cryptoki.verify(session, [1], signature: [UInt8](repeating: 0, count: 32)) },
        ]
        try begin()
        // The keychain's lock ends a login without a call.
        try module.process.keychain(at: cryptoki.session(session).slot.name).lock()
        for call in calls { #expect(returned(call) == CKR_USER_NOT_LOGGED_IN) }
        try cryptoki.logIn(session, CKU_USER, pin: .of("open"))
        try begin()
        try cryptoki.logOut(session)
        for call in calls { #expect(returned(call) == CKR_OPERATION_NOT_INITIALIZED) }
    }
}
