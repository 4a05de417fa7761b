import HostAPI
import ItemDictionaries
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Symmetric keys are protected as private keys are. Keychain semantics 1.10, 3.2 and 4.5.
@Suite struct SymmetricKeyProtectionTests {
    private let test: TestKeychain
    private let bytes = [UInt8](1...32)

    init() throws { test = try TestKeychain() }

    private func item(_ key: SymmetricKey) throws -> Item {
        try #require(
            try test.keychain.items(matching: Query(.key, [.applicationLabel: label(key)])).found.first)
    }

    private func label(_ key: SymmetricKey) throws -> AttributeValue { try #require(key.attributes[.applicationLabel]) }

    /// Adds a key by reference, as SecItem does.
    private func add(_ key: ItemReference, _ attributes: ItemDictionary = [:]) throws(KeychainError) -> ItemValue? {
        let session = KeychainSession(
            searchList: SearchList(locals: [test.keychain]), defaultKeychain: test.keychain)
        let fixed: ItemDictionary = ["class": .string("keys"), "v_Ref": .reference(key), "r_Ref": .bool(true)]
        return try session.add(fixed.merging(attributes) { $1 })
    }

    @Test(arguments: [Attribute.canEncrypt, .canVerify, .canWrap, .canDecrypt])
    func aCopyDoesNothingThatTheKeyDoesNot(use: Attribute) throws {
        let key = try NewItem.symmetricKey(Secret(copying: bytes.span), [use: false])
        expect(.readOnlyAttribute, key: use.rawValue) { _ = try add(.symmetricKey(key), [use.rawValue: .bool(true)]) }
    }

    @Test func whatItsAttributesForbidItDoesNotDo() throws {
        let rows: [(Attribute, KeyType, KeyOperation, KeyAlgorithm)] = [
            (.canEncrypt, .aes, .encrypt, .aesGCM), (.canDecrypt, .aes, .decrypt, .aesGCM),
            (.canWrap, .aes, .encrypt, .aesKeyWrap), (.canUnwrap, .aes, .decrypt, .aesKeyWrap),
            (.canSign, .hmac, .sign, .hmac(.sha256)),
            (.canVerify, .hmac, .verify, .hmac(.sha256)),
        ]
        for (attribute, type, operation, algorithm) in rows {
            for key in [
                try test.add(symmetric: bytes, type, [attribute: false]),
                try SymmetricKey(Secret(copying: bytes.span), type: type, [attribute: false]),
            ] {
                for (_, otherType, other, otherAlgorithm) in rows where otherType == type {
                    let isForbidden = other == operation && otherAlgorithm == algorithm
                    #expect(key.isSupported(otherAlgorithm, for: other) != isForbidden, "\(attribute) \(other)")
                }
                expect(.param, key: "algorithm") {
                    switch operation {
                    case .encrypt: _ = try key.encrypted(bytes, algorithm)
                    case .decrypt: _ = try key.decrypted(bytes, algorithm)
                    case .sign: _ = try key.signed(bytes, .sha256)
                    default: _ = try key.verified(bytes, bytes, .sha256)
                    }
                }
            }
        }
    }

    @Test(arguments: [KeyType.aes, .hmac]) func aKeyThatIsNotExtractableIsUsedAndNeverLeaves(type: KeyType) throws {
        let item = try test.keychain.generateSymmetricKey(type: type, [.label: "kept", .isExtractable: false])
        #expect(item[.wasNeverExtractable] == true)
        let key = try #require(try test.keychain.symmetricKeys(.name("kept")).first)
        try key.checkWorks()
        expect(.dataNotAvailable) { _ = try test.keychain.secret(of: item.reference) }
        expect(.dataNotAvailable) { _ = try test.keychain.externalRepresentation(of: item) }
        expect(.param) { _ = try add(.item(item)) }
        let session = KeychainSession(searchList: SearchList(locals: [test.keychain]))
        expect(.dataNotAvailable) {
            _ = try session.copyMatching(["class": .string("keys"), "labl": .string("kept"), "r_Data": .bool(true)])
        }
        expect(.readOnlyAttribute) {
            try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.isExtractable: true]))
        }
        let inMemory = try SymmetricKey.generate(type, [.isExtractable: false])
        try inMemory.checkWorks()
        #expect(ItemClass.key.refusalToLeave(inMemory.attributes)?.code == .dataNotAvailable)
        let new = try NewItem.symmetricKey(type.randomKey(bits: 256), type: type, [.isExtractable: false])
        expect(.readOnlyAttribute, key: "extr") { _ = try add(.symmetricKey(new), ["extr": .bool(true)]) }
        guard case .reference(.item(let stored))? = try add(.symmetricKey(new)) else {
            Issue.record("nothing was added")
            return
        }
        #expect(stored[.isExtractable] == false)
    }

    @Test func aSensitiveKeyIsUsedAndDoesNotLeave() throws {
        let item = try test.keychain.generateSymmetricKey([.label: "kept", .isSensitive: true])
        #expect(item[.wasAlwaysSensitive] == true)
        try #require(try test.keychain.symmetricKeys(.name("kept")).first).checkWorks()
        expect(.keyIsSensitive) { _ = try test.keychain.externalRepresentation(of: item) }
        let inMemory = try SymmetricKey.generate(.hmac, [.isSensitive: true])
        #expect(ItemClass.key.refusalToLeave(inMemory.attributes)?.code == .keyIsSensitive)
    }

    @Test func aLockedKeychainAsksForEachOperationOnceUntilItIsOpen() throws {
        let keys = [try test.add(symmetric: bytes), try test.add(symmetric: bytes, .hmac)]
        for key in keys {
            test.keychain.lock()
            expect(.interactionNotAllowed) { try key.checkWorks(.nobody) }
            #expect(test.keychain.isLocked)
            expect(.authFailed) {
                let wrong = AuthenticationContext()
                wrong.setCredential(.of("wrong"), .password)
                try key.checkWorks(wrong)
            }
            let person = TypesInTurn("correct")
            try key.checkWorks(AuthenticationContext(prompter: person))
            #expect(person.requests.map(\.sentence) == ["password for 'test' to use it"])
        }
    }

    @Test func aGuardedKeyAsksAtEachUse() throws {
        let control = AttributeValue.data(try AccessControl("ak", [.userPresence, .privateKeyUsage]).encoded())
        for type in [KeyType.aes, .hmac] {
            let key = try test.add(symmetric: bytes, type, [.accessControl: control])
            expect(.interactionNotAllowed) { try key.checkWorks(.nobody) }
            expect(.userCanceled) { try key.checkWorks(AuthenticationContext(prompter: TypesInTurn())) }
            let person = TypesInTurn("correct", "correct")
            try key.checkWorks(AuthenticationContext(prompter: person))
            #expect(person.requests.count == 2, "there are two operations")
            expect(.interactionNotAllowed) { _ = try test.keychain.externalRepresentation(of: item(key)) }
        }
    }

    @Test func aKeyUnderAnApplicationPasswordWantsIt() throws {
        let control = AttributeValue.data(try AccessControl("ak", .applicationPassword).encoded())
        let context = AuthenticationContext()
        context.setCredential(.of("app"), .applicationPassword)
        try test.keychain.add(
            .symmetricKey(Secret(copying: bytes.span), [.accessControl: control, .label: "sealed"]),
            authentication: context, cost: .negligible)
        let key = try #require(try test.keychain.symmetricKeys(.label("sealed")).first)
        try key.checkWorks(context)
        let plain = try SymmetricKey(Secret(copying: bytes.span))
        #expect(try plain.decrypted(key.encrypted([5], .aesGCM, context: context), .aesGCM) == [5])
        let wrong = AuthenticationContext()
        wrong.setCredential(.of("no"), .applicationPassword)
        expect(.authFailed) { try key.checkWorks(wrong) }
        expect(.interactionNotAllowed) { try key.checkWorks(.nobody) }
    }

    @Test func aKeyWhoseBytesNoLongerFitIsRefused() throws {
        let key = try test.add(symmetric: Array(bytes.prefix(20)), .hmac)
        try test.keychain.update(
            matching: Query(item(key).reference), to: ItemChanges([.keyType: KeyType.aes.value, .canEncrypt: true]))
        let changed = SymmetricKey(try item(key), in: test.keychain)
        #expect(changed.type == .aes)
        expect(.keySizeNotAllowed) { _ = try changed.encrypted([1], .aesGCM) }
    }

    @Test func aKeyThatIsGoneIsNotFound() throws {
        let key = try test.add(symmetric: bytes)
        let session = KeychainSession(searchList: SearchList(locals: [test.keychain]))
        let item = try item(key)
        _ = try session.symmetricKey(of: item)
        try test.keychain.delete(matching: Query(item.reference))
        expect(.itemNotFound) { _ = try key.encrypted([1], .aesGCM) }
        expect(.itemNotFound) { _ = try session.symmetricKey(of: item) }
        expect(.itemNotFound) { _ = try KeychainSession(searchList: SearchList()).symmetricKey(of: item) }
    }
}

extension SymmetricKey {
    /// Encrypts and decrypts with the key, or signs and verifies.
    fileprivate func checkWorks(_ context: AuthenticationContext = .owner) throws {
        if type == .aes {
            #expect(
                try decrypted(encrypted([1, 2, 3], .aesGCM, context: context), .aesGCM, context: context) == [1, 2, 3])
        } else {
            #expect(try verified(signed([1, 2, 3], .sha256, context), [1, 2, 3], .sha256, context))
        }
    }
}
