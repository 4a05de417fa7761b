import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Keys that are generated, imported and exported. Keychain semantics 1.10 and 4.5.
@Suite struct LocalKeyTests {
    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    private func key(_ name: String) throws -> any KeychainKey {
        try #require(try test.keychain.keys(.name(name)).first)
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519, .x25519])
    func bothHalvesAreStoredWithTheAttributesOfTheirKind(kind: KeyKind) throws {
        let pair = try test.keychain.generateKeyPair(kind, [.label: "mine", .applicationTag: "tag"])
        let hash = try PublicKey(spki: try #require(pair.publicKey.der)).keyHash
        for (item, keyClass) in [(pair.privateKey, KeyClass.private), (pair.publicKey, .public)] {
            let isPrivate = keyClass == .private
            let expected: Attributes = [
                .label: "mine", .applicationTag: "tag", .keyClass: keyClass.value, .applicationLabel: .data(hash),
                .keySizeInBits: .number(Int64(kind.bits ?? 0)), .effectiveKeySize: .number(Int64(kind.bits ?? 0)),
                .isPermanent: true, .isModifiable: true, .isExtractable: true, .isSensitive: false,
                .wasAlwaysSensitive: false, .wasNeverExtractable: false, .isPrivate: .bool(isPrivate),
                .canSign: .bool(isPrivate), .canDecrypt: .bool(isPrivate), .canUnwrap: .bool(isPrivate),
                .canDerive: true, .canVerify: .bool(!isPrivate), .canEncrypt: .bool(!isPrivate),
                .canWrap: .bool(!isPrivate), .canSignRecover: false, .canVerifyRecover: false,
            ]
            for (attribute, value) in expected { #expect(item[attribute] == value, "\(attribute)") }
            #expect(item.der == pair.publicKey.der)
        }
        #expect(try test.keychain.secret(of: pair.publicKey.reference) == nil)
        #expect(try test.count(.key) == 2)
    }

    @Test(arguments: [
        KeyKind.rsa(bits: 0), .rsa(bits: 1024), .rsa(bits: 2047), .rsa(bits: 2049), .rsa(bits: 4104), .rsa(bits: 16384),
        .rsa(bits: -1), .other("ED448"), .other("nonsense"),
    ])
    func otherKindsAndSizesAreNotGenerated(kind: KeyKind) throws {
        #expect(throws: KeychainError(.keySizeNotAllowed)) { try test.keychain.generateKeyPair(kind) }
        #expect(try test.count(.key) == 0)
    }

    @Test(arguments: [KeyKind.other("ED448"), .other("X448")])
    func aKeyThatNothingCanBeDoneWithIsNotStored(kind: KeyKind) throws {
        let key = try PrivateKey.generate(kind)
        #expect(throws: KeychainError(.unsupportedFormat)) { _ = try NewItem.privateKey(key) }
        #expect(throws: KeychainError(.unsupportedFormat)) { _ = try NewItem.publicKey(key.publicKey) }
    }

    @Test func wherePartOfAPairCannotBeStoredNothingIs() throws {
        test.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try test.keychain.generateKeyPair(.ecP256) }
        try test.keychain.unlock(password: .of("correct"))
        // Only the public half would get the tokens' group, which is refused.
        #expect(throws: KeychainError.self) {
            try test.keychain.generateKeyPair(
                .ecP256, [.accessGroup: .string(AccessGroup.token)], privateAttributes: [.accessGroup: "mine"])
        }
        #expect(try test.count(.key) == 0)
    }

    // Case 75
    @Test func aKeyThatIsNotExtractableIsNotExportedAndStillSigns() throws {
        let item = try test.keychain.generateKeyPair(
            .ecP256, [.label: "kept"], privateAttributes: [.isExtractable: false]
        ).privateKey
        #expect(item[.wasNeverExtractable] == true)
        let refusal = KeychainError(.dataNotAvailable)
        #expect(throws: refusal) { try test.keychain.exportKey(item.reference) }
        #expect(throws: refusal) { try test.keychain.exportKey(item.reference, encrypted: false) }
        #expect(throws: refusal) { _ = try test.keychain.secret(of: item.reference) }
        #expect(throws: refusal) { _ = try test.keychain.externalRepresentation(of: item) }
        let signature = try key("kept").signed([1], .messageSignature(.ecdsa(.sha256)))
        #expect(try key("kept").verify(signature, of: [1], using: .messageSignature(.ecdsa(.sha256))))
    }

    @Test func noChangeMakesAKeyExtractableOrLessSensitive() throws {
        let item = try test.keychain.generateKeyPair(
            .ecP256, privateAttributes: [.isExtractable: false, .isSensitive: true]
        ).privateKey
        #expect(item[.wasAlwaysSensitive] == true)
        for change in [[.isExtractable: true], [.isSensitive: false], [.wasNeverExtractable: false]] as [Attributes] {
            #expect(throws: KeychainError(.readOnlyAttribute)) {
                try test.keychain.update(matching: Query(item.reference), to: ItemChanges(change))
            }
        }
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "new"]))
        #expect(throws: KeychainError(.dataNotAvailable)) { _ = try test.keychain.secret(of: item.reference) }
        let other = try test.keychain.generateKeyPair(.ecP256).privateKey
        try test.keychain.update(matching: Query(other.reference), to: ItemChanges([.isExtractable: false]))
        #expect(throws: KeychainError(.dataNotAvailable)) { try test.keychain.exportKey(other.reference) }
    }

    @Test func aSensitiveKeyLeavesOnlyEncrypted() throws {
        let item = try test.keychain.generateKeyPair(.ecP256, privateAttributes: [.isSensitive: true]).privateKey
        #expect(throws: KeychainError(.keyIsSensitive)) {
            try test.keychain.exportKey(item.reference, encrypted: false)
        }
        #expect(throws: KeychainError(.keyIsSensitive)) { _ = try test.keychain.externalRepresentation(of: item) }
        let encrypted = try test.keychain.exportKey(item.reference).encryptedPKCS8(password: .of("p"), iterations: 1)
        #expect(try PrivateKey(encoded: Secret(copying: encrypted.span), password: .of("p")).publicKey.spki == item.der)
    }

    @Test(arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP521, .ed25519])
    func aKeyComesBackFromEveryFormatItWasExportedIn(kind: KeyKind) throws {
        let item = try test.keychain.generateKeyPair(kind).privateKey
        let exported = try test.keychain.exportKey(item.reference)
        var forms = [
            try exported.pkcs8().copiedBytes, try exported.openSSH().copiedBytes,
            try PEM.encode(exported.pkcs8(), label: "PRIVATE KEY").copiedBytes,
        ]
        if kind != .ed25519 { forms.append(try exported.algorithmEncoding().copiedBytes) }
        for form in forms {
            let other = try TestKeychain()
            let again = try other.add(try PrivateKey(encoded: Secret(copying: form.span)))
            #expect(again.der == item.der)
            #expect(try other.keychain.exportKey(again.reference).publicKey == exported.publicKey)
        }
    }

    @Test func theExternalRepresentationIsThatOfSecKey() throws {
        let pair = try test.keychain.generateKeyPair(.ecP256)
        let (secret, point) = (
            try test.keychain.externalRepresentation(of: pair.privateKey).copiedBytes,
            try test.keychain.externalRepresentation(of: pair.publicKey).copiedBytes
        )
        #expect(point.count == 65 && secret.count == 97 && Array(secret.prefix(65)) == point)
        let again = try PrivateKey(externalRepresentation: Secret(copying: secret.span), family: .ec)
        #expect(again.publicKey.rawRepresentation == point)
    }

    // MARK: - Symmetric keys

    @Test(arguments: [128, 192, 256]) func symmetricKeysAreStored(bits: Int) throws {
        let item = try test.keychain.generateSymmetricKey(bits: bits, [.label: "aes"])
        let expected: Attributes = [
            .keyClass: 2, .keyType: .number(0x8000_0001), .keySizeInBits: .number(Int64(bits)), .canEncrypt: true,
            .canDecrypt: true, .canWrap: true, .canUnwrap: true, .canSign: false, .canDerive: false, .label: "aes",
        ]
        for (attribute, value) in expected { #expect(item[attribute] == value, "\(attribute)") }
        #expect(try test.keychain.externalRepresentation(of: item).count == bits / 8)
        #expect(try test.keychain.keys(.name("aes")).isEmpty)
    }

    @Test func aSymmetricKeysLabelIsTheCallersOrRandom() throws {
        let bytes = [UInt8](repeating: 7, count: 32)
        let given = try test.keychain.add(
            .symmetricKey(Secret(copying: bytes.span), [.applicationLabel: "chosen"]))
        #expect(given[.applicationLabel]?.bytes == Array("chosen".utf8))
        #expect(throws: KeychainError(.duplicateItem)) {
            try test.keychain.add(.symmetricKey(Secret(copying: bytes.span), [.applicationLabel: "chosen"]))
        }
        let labels = try (0..<2).map { _ in
            try test.keychain.add(.symmetricKey(Secret(copying: bytes.span)))[.applicationLabel]?.bytes
        }
        #expect(labels[0] != labels[1])
        #expect(labels[0]?.count == 16)
        #expect(try test.keychain.externalRepresentation(of: given).copiedBytes == bytes)
    }

    @Test(arguments: [112, 256, 1048, 8192]) func keysForHMACAreStored(bits: Int) throws {
        let item = try test.keychain.generateSymmetricKey(type: .hmac, bits: bits)
        let expected: Attributes = [
            .keyClass: 2, .keyType: 91, .keySizeInBits: .number(Int64(bits)), .canSign: true, .canVerify: true,
            .canEncrypt: false, .canDecrypt: false, .canWrap: false, .canUnwrap: false, .canDerive: false,
        ]
        for (attribute, value) in expected { #expect(item[attribute] == value, "\(attribute)") }
        #expect(try test.keychain.externalRepresentation(of: item).count == bits / 8)
    }

    @Test func whatIsSaidOfASymmetricKeyIsTheKeys() throws {
        let bytes = [UInt8](repeating: 7, count: 32)
        let rows: [(Attributes, Attribute)] = [
            ([.keySizeInBits: 128], .keySizeInBits), ([.keyType: KeyType.hmac.value], .keyType),
            ([.keyClass: KeyClass.private.value], .keyClass),
        ]
        for (attributes, attribute) in rows {
            expect(.param, key: attribute.rawValue) {
                _ = try NewItem.symmetricKey(Secret(copying: bytes.span), attributes)
            }
        }
        expect(.param, key: Attribute.keyType.rawValue) {
            _ = try NewItem.symmetricKey(Secret(copying: bytes.span), type: .rsa)
        }
        let item = try test.keychain.add(
            .symmetricKey(Secret(copying: bytes.span), [.keySizeInBits: 256, .canWrap: false, .isPermanent: false]))
        #expect(item[.canWrap] == false && item[.isPermanent] == true)
    }

    @Test func symmetricKeysAreFoundByLabelAndReferenceAlone() throws {
        let item = try test.keychain.generateSymmetricKey([.label: "mine"])
        let pair = try test.keychain.generateKeyPair(.ecP256, [.label: "mine"])
        for selector in [KeySelector.name("mine"), .label("mine"), .reference(item.reference)] {
            #expect(try test.keychain.symmetricKeys(selector).map(\.attributes) == [item.attributes])
        }
        #expect(try test.keychain.symmetricKeys(.name("other")).isEmpty)
        #expect(try test.keychain.symmetricKeys(.reference(pair.privateKey.reference)).isEmpty)
        let hash = try #require(item.publicKeyHash)
        #expect(try test.keychain.symmetricKeys(.publicKeyHash(hash)).isEmpty)
        #expect(try test.keychain.keys(.name("mine")).count == 1)
    }

    @Test func otherLengthsAreNoKeys() throws {
        for count in [0, 1, 15, 17, 64] {
            let bytes = [UInt8](repeating: 7, count: count)
            #expect(throws: KeychainError(.keySizeNotAllowed)) {
                try test.keychain.add(.symmetricKey(Secret(copying: bytes.span)))
            }
            #expect(throws: KeychainError(.keySizeNotAllowed)) {
                try test.keychain.generateSymmetricKey(bits: count * 8)
            }
        }
        for bits in [-8, 0, 8, 104, 113, KeyType.maximumGeneratedHMACBits + 8, 1 << 40, .max] {
            #expect(throws: KeychainError(.keySizeNotAllowed)) {
                try test.keychain.generateSymmetricKey(type: .hmac, bits: bits)
            }
        }
        #expect(throws: KeychainError(.keySizeNotAllowed)) {
            _ = try NewItem.symmetricKey(.of("Jefe"), type: .hmac)
        }
        let item = try test.keychain.generateSymmetricKey([.isExtractable: false])
        #expect(throws: KeychainError(.dataNotAvailable)) { _ = try test.keychain.externalRepresentation(of: item) }
    }
}
