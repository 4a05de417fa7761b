import HostAPI
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Where a key of a test is.
enum Place: String, CaseIterable, Sendable {
    case card, file
}

/// A key on a card or in a file, which a program gets through a search list.
private struct Holder {
    let publicKey: PublicKey
    let list: SearchList
    let name: String
    /// The folder of the keychain's file, kept as long as the holder.
    private let folder: TemporaryFolder?

    init(_ place: Place, _ algorithm: CardAlgorithm) throws {
        let card = TestCard(profile: .yubiKey57, algorithm: algorithm, slots: [.authentication])
        let key = try card.key(.authentication)
        publicKey = key.publicKey
        switch place {
        case .card:
            list = SearchList(tokens: [try Desk(card).token])
            name = "9A"
            folder = nil
        case .file:
            let local = try TestKeychain()
            try local.add(key.privateKey, [.label: "mine"])
            list = SearchList(locals: [local.keychain])
            name = "mine"
            folder = local.folder
        }
    }

    func perform(_ action: TokenOperation.Action) throws -> [UInt8] {
        let keys = try list.keys(.name(name)).found
        #expect(keys.count == 1)
        let key = try #require(keys.first)
        #expect(key.publicKey == publicKey.spki)
        return try key.perform(action, use: "test", authentication: .owner).copiedBytes
    }
}

/// The same operation gives the same result on a card and in software, and other software can use the result.
@Suite struct KeyOperationTests {
    private static let message = Array("a message".utf8)

    static let digests: [(Place, DigestAlgorithm)] = Place.allCases.flatMap { place in
        DigestAlgorithm.allCases.map { (place, $0) }
    }

    @Test(arguments: digests) func rsaSignatures(place: Place, hash: DigestAlgorithm) throws {
        let holder = try Holder(place, .rsa2048)
        let digest = try Digest.hash(Self.message, using: hash)
        let plain = try holder.perform(.sign(.rsaPKCS1(hash), digest))
        #expect(try holder.publicKey.verify(plain, digest: digest, using: .rsaPKCS1(hash)))
        let pss = try holder.perform(.sign(.rsaPSS(hash, saltLength: hash.byteCount), digest))
        #expect(try holder.publicKey.verify(pss, digest: digest, using: .rsaPSS(hash)))
    }

    @Test(arguments: Place.allCases) func rsaWithoutADigestsName(place: Place) throws {
        let holder = try Holder(place, .rsa2048)
        let signature = try holder.perform(.sign(.rsaPKCS1(nil), Self.message))
        #expect(try holder.publicKey.verify(signature, digest: Self.message, using: .rsaPKCS1(nil)))
    }

    @Test(arguments: digests) func ecdsaSignatures(place: Place, hash: DigestAlgorithm) throws {
        for (algorithm, kind) in [(CardAlgorithm.p256, KeyKind.ecP256), (.p384, .ecP384)] {
            let holder = try Holder(place, algorithm)
            #expect(holder.publicKey.kind == kind)
            let digest = try Digest.hash(Self.message, using: hash)
            let signature = try holder.perform(.sign(.ecdsa(nil), digest))
            #expect(try holder.publicKey.verify(signature, digest: digest, using: .ecdsa(nil)))
        }
    }

    @Test(arguments: Place.allCases) func ed25519Signatures(place: Place) throws {
        let holder = try Holder(place, .ed25519)
        let signature = try holder.perform(.sign(.ed25519, Self.message))
        #expect(try holder.publicKey.verify(signature, message: Self.message, using: .ed25519))
    }

    @Test(arguments: Place.allCases) func decryption(place: Place) throws {
        let holder = try Holder(place, .rsa2048)
        let plain = try holder.publicKey.encrypt(Self.message, using: .pkcs1)
        #expect(try holder.perform(.decrypt(.pkcs1, plain)) == Self.message)
        let oaep = try holder.publicKey.encrypt(Self.message, using: .oaep(.sha256))
        #expect(try holder.perform(.decrypt(.oaep(.sha256), oaep)) == Self.message)
        let raw = try holder.perform(.decrypt(.raw, plain))
        #expect(raw.count == 256)
        #expect(raw.prefix(2) == [0x00, 0x02])
        #expect(raw.suffix(Self.message.count) == Self.message[...])
    }

    @Test(arguments: Place.allCases) func agreement(place: Place) throws {
        for (algorithm, kind) in [(CardAlgorithm.p256, KeyKind.ecP256), (.p384, .ecP384), (.x25519, .x25519)] {
            let holder = try Holder(place, algorithm)
            let peer = try PrivateKey.generate(kind)
            let shared = try holder.perform(.agree(peer.publicKey.rawRepresentation))
            #expect(try peer.sharedSecret(with: holder.publicKey).copiedBytes == shared)
        }
    }

    @Test(arguments: Place.allCases) func whatAKeyCannotDoIsRefused(place: Place) throws {
        let (ec, rsa) = (try Holder(place, .p256), try Holder(place, .rsa2048))
        #expect(throws: KeychainError.self) {
            try ec.perform(.sign(.rsaPKCS1(.sha256), [UInt8](repeating: 1, count: 32)))
        }
        #expect(throws: KeychainError.self) { try ec.perform(.decrypt(.pkcs1, [1])) }
        #expect(throws: KeychainError.self) { try ec.perform(.agree([4, 1, 2])) }
        #expect(throws: KeychainError.self) { try rsa.perform(.sign(.ecdsa(nil), [UInt8](repeating: 1, count: 32))) }
        #expect(throws: KeychainError.self) { try rsa.perform(.agree([4, 1, 2])) }
        #expect(throws: KeychainError.self) { try rsa.perform(.sign(.rsaPKCS1(.sha256), [1, 2, 3])) }
        #expect(throws: KeychainError.self) { try rsa.perform(.decrypt(.pkcs1, [1, 2, 3])) }
    }
}

@Suite struct KeySelectionTests {
    @Test func aKeyIsFoundByNameHashAndReference() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let software = try local.add(try TestKey.named("anna").privateKey, [.label: "mine"])
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let onCard = try #require(try desk.items(.key).first)
        for (item, names) in [(software, ["mine"]), (onCard, ["9A", "9a"])] {
            let hash = try #require(item.publicKeyHash)
            let selectors = names.map(KeySelector.name) + [.publicKeyHash(hash), .reference(item.reference)]
            for selector in selectors {
                let found = try list.keys(selector).found
                #expect(found.map(\.publicKey) == [item.der], "\(selector)")
                let signature = try #require(found.first).sign(.owner)
                let key = try PublicKey(spki: try #require(item.der))
                let digest = [UInt8](repeating: 0x5A, count: 32)
                #expect(try key.verify(signature, digest: digest, using: .ecdsa(nil)))
            }
        }
    }

    @Test func whatIsNoPrivateKeyIsNotFound() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let key = try TestKey.named("anna")
        let publicKey = try local.keychain.add(.publicKey(key.publicKey, [.label: "mine"]))
        let password = try local.addPassword()
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let selectors: [KeySelector] = [
            .name("mine"), .name("no such key"), .publicKeyHash(key.publicKey.keyHash), .publicKeyHash([]),
            .reference(publicKey.reference), .reference(password.reference),
            .reference(PersistentReference(.key, .token(id: "piv:x", object: Array("9A".utf8)))),
        ]
        for selector in selectors { #expect(try list.keys(selector).found.isEmpty, "\(selector)") }
    }

    @Test func aSynchronizableKeyIsFound() throws {
        let local = try TestKeychain()
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine", .synchronizable: 1])
        #expect(try local.keychain.keys(.name("mine")).count == 1)
    }

    @Test func aSlotWithANewKeyIsNotTheKeyOfAnOldReference() throws {
        let old = try Desk(TestCard(name: "old"))
        let reference = try #require(try old.items(.key).first).reference
        let new = try Desk(TestCard(name: "new"))
        #expect(try new.token.keys(.name("9A")).count == 1)
        #expect(try new.token.keys(.reference(reference)).isEmpty)
        #expect(try new.token.items(matching: Query(reference)).found.isEmpty)
    }

    @Test func aLocalReferenceTouchesNoCard() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let item = try local.add(try TestKey.named("anna").privateKey)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        #expect(try list.keys(.reference(item.reference)).found.count == 1)
        #expect(desk.commands.isEmpty)
    }

    @Test func aKeyTellsWhereItIs() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine"])
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let keys = try list.keys(.name("9A")).found + list.keys(.name("mine")).found
        #expect(keys.map(\.keychainName) == ["Desk Reader", "test"])
        #expect(keys.map(\.name) == ["9A", "mine"])
        #expect(keys.map { $0.certificate != nil } == [true, false])
    }
}

@Suite struct LocalPasswordTests {
    private func locked() throws -> (TestKeychain, any KeychainKey) {
        let local = try TestKeychain()
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine"])
        local.keychain.lock()
        return (local, try #require(try local.keychain.keys(.name("mine")).first))
    }

    @Test func aLockedKeychainAsksForItsPasswordOnce() throws {
        let (local, key) = try locked()
        let person = TypesInTurn("correct")
        let context = AuthenticationContext(prompter: person)
        for _ in 0..<2 { _ = try key.sign(context) }
        #expect(person.requests.map(\.purpose) == [.password])
        #expect(person.requests.first?.sentence == "password for 'test' to sign it")
        #expect(!local.keychain.isLocked)
    }

    @Test func aWrongPasswordIsAskedForAgain() throws {
        let (local, key) = try locked()
        let person = TypesInTurn("wrong", "correct")
        _ = try key.sign(AuthenticationContext(prompter: person))
        #expect(!local.keychain.isLocked)
        #expect(person.requests.map { $0.failure != nil } == [false, true])
    }

    @Test func aProgramThatGivesOneWrongAnswerForEverIsAskedThreeTimes() throws {
        let (local, key) = try locked()
        let program = AnswersForEver("wrong")
        #expect(throws: KeychainError(.authFailed)) { try key.sign(AuthenticationContext(prompter: program)) }
        #expect(program.timesAsked == 3)
        #expect(local.keychain.isLocked)
    }

    @Test func aScriptIsAskedOnce() throws {
        let (local, key) = try locked()
        let script = AnswersByScript("wrong", "correct")
        #expect(throws: KeychainError(.authFailed)) { try key.sign(AuthenticationContext(prompter: script)) }
        #expect(local.keychain.isLocked)
        #expect(script.timesAsked == 1)
    }

    @Test func whereNobodyCanBeAskedItFails() throws {
        let (local, key) = try locked()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try key.sign(.nobody) }
        #expect(throws: KeychainError(.userCanceled)) { try key.sign(AuthenticationContext(prompter: TypesInTurn())) }
        #expect(local.keychain.isLocked)
    }
}
