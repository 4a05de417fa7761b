import HostAPI
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A card's PIN opens a keychain. Keychain semantics 4.6 and 7.11.
@Suite struct CardBindingTests {
    private let local: TestKeychain

    init() throws {
        local = try TestKeychain()
        try local.addPassword(secret: "s3cret")
    }

    private func desk(_ algorithm: CardAlgorithm = .p256, name: String = "card", guid: Int = 1) throws -> Desk {
        let hex = String(guid, radix: 16)
        return try Desk(
            TestCard(
                profile: .yubiKey57, algorithm: algorithm, slots: [.keyManagement],
                guid: String(repeating: "0", count: 32 - hex.utf8.count) + hex, name: name),
            reader: "Reader \(guid)")
    }

    private func read(_ keychain: LocalKeychain) throws -> String? {
        let item = try #require(try keychain.items(matching: Query(.genericPassword)).found.first)
        return try keychain.secretText(item.reference)
    }

    @Test(arguments: [CardAlgorithm.rsa2048, .p256, .p384, .x25519])
    func thePINOpensTheKeychain(algorithm: CardAlgorithm) throws {
        let desk = try desk(algorithm)
        let binding = try local.keychain.bind(to: desk.token, authentication: .owner)
        #expect(try local.keychain.cardBindings() == [binding])
        // Another program, and a card without a verified PIN.
        let reopened = try local.reopened()
        try desk.token.reset()
        let person = TypesInTurn("123456")
        let isOpen = try reopened.unlock(
            with: [desk.token], use: "read it", authentication: AuthenticationContext(prompter: person))
        #expect(isOpen)
        #expect(person.requests.map(\.purpose) == [.pin])
        #expect(person.requests.first?.use == "unlock the keychain 'test' and read it with key 9D")
        #expect(try read(reopened) == "s3cret")
    }

    @Test func theCardOpensTheKeychainRestoredBesideItsOriginal() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        _ = try local.keychain.backUp(to: local.folder.path("backup"))
        let copy = try LocalKeychain.restore(
            local.folder.path("backup"), to: local.folder.path("copy"), password: .of("correct"),
            beside: [local.keychain.identifier])
        copy.lock()
        let isOpen = try copy.unlock(with: [desk.token], use: "read", authentication: .owner)
        #expect(isOpen)
        #expect(try read(copy) == "s3cret")
    }

    @Test func thePasswordOpensItStill() throws {
        try local.keychain.bind(to: desk().token, authentication: .owner)
        let reopened = try local.reopened()
        try reopened.unlock(password: .of("correct"))
        #expect(try read(reopened) == "s3cret")
    }

    @Test func aNewPasswordLeavesTheBindingAsItIs() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try local.keychain.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        let reopened = try local.reopened()
        let isOpen = try reopened.unlock(with: [desk.token], use: "read", authentication: .owner)
        #expect(isOpen)
        #expect(try read(reopened) == "s3cret")
    }

    @Test func anyOfSeveralCardsOpensIt() throws {
        let desks = try [desk(name: "one", guid: 1), desk(.x25519, name: "two", guid: 2)]
        for desk in desks { try local.keychain.bind(to: desk.token, authentication: .owner) }
        #expect(try local.keychain.cardBindings().count == 2)
        for desk in desks {
            let reopened = try local.reopened()
            let other = try self.desk(name: "stranger", guid: 3)
            let tokens = [Desk(VirtualReader()).token, other.token, desk.token]
            let isOpen = try reopened.unlock(with: tokens, use: "read", authentication: .owner)
            #expect(isOpen)
            #expect(other.pinsSent == 0)
        }
    }

    @Test func aReissuedCardIsBoundAnewInPlaceOfTheOld() throws {
        let old = try desk(name: "old")
        try local.keychain.bind(to: old.token, authentication: .owner)
        // A card with the same GUID and a new key.
        let new = try desk(.p384, name: "new")
        let reopened = try local.reopened()
        let error = #expect(throws: KeychainError(.dataNotAvailable)) {
            try reopened.unlock(with: [new.token], use: "read", authentication: .owner)
        }
        #expect(error?.remedy?.contains("bind the card again") == true)
        #expect(new.pinsSent == 0)
        try local.keychain.bind(to: new.token, authentication: .owner)
        #expect(try local.keychain.cardBindings().count == 1)
        let isOpen = try reopened.unlock(with: [new.token], use: "read", authentication: .owner)
        #expect(isOpen)
        let another = try local.reopened()
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try another.unlock(with: [old.token], use: "read", authentication: .owner)
        }
    }

    @Test func whatIsUnboundOpensNothing() throws {
        let desks = try [desk(name: "one", guid: 1), desk(name: "two", guid: 2)]
        for desk in desks { try local.keychain.bind(to: desk.token, authentication: .owner) }
        let first = try #require(try local.keychain.cardBindings().first)
        #expect(try local.keychain.unbind("piv:unknown") == 0)
        #expect(try local.keychain.unbind(first.tokenID) == 1)
        let reopened = try local.reopened()
        let isOpen = try reopened.unlock(with: [desks[0].token], use: "read", authentication: .owner)
        #expect(!isOpen && reopened.isLocked)
        #expect(try local.keychain.unbind() == 1)
        #expect(try local.keychain.cardBindings().isEmpty)
    }

    @Test func withoutABindingNoCardIsTouched() throws {
        let desk = try desk()
        let isOpen = try local.reopened().unlock(with: [desk.token], use: "read", authentication: .owner)
        #expect(!isOpen)
        #expect(desk.reader.log.isEmpty)
    }

    @Test func bindingTakesAnOpenKeychainACardAndAKeyThatOpens() throws {
        let desk = try desk()
        let signer = try Desk(TestCard(profile: .yubiKey57, algorithm: .ed25519, slots: [.authentication]))
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try local.keychain.bind(to: Desk(VirtualReader()).token, authentication: .owner)
        }
        #expect(throws: KeychainError(.itemNotFound)) {
            try local.keychain.bind(to: signer.token, authentication: .owner)
        }
        #expect(throws: KeychainError(.param)) {
            try local.keychain.bind(to: signer.token, key: "9A", authentication: .owner)
        }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try local.keychain.bind(to: desk.token, authentication: .nobody)
        }
        local.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try local.keychain.bind(to: desk.token, authentication: .owner)
        }
        #expect(try local.keychain.cardBindings().isEmpty)
    }

    @Test func aWrongPINOpensNothingAndTheScriptHearsOfIt() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let reopened = try local.reopened()
        let error = #expect(throws: KeychainError(.authFailed)) {
            try reopened.unlock(
                with: [desk.token], use: "read",
                authentication: AuthenticationContext(prompter: AnswersByScript("000000")))
        }
        #expect(error?.triesLeft == 2)
        #expect(reopened.isLocked)
    }

    @Test(arguments: ["reference", "public_key", "exchange", "salt", "wrapped_key"])
    func anAlteredBindingOpensNothing(column: String) throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        let bytes = try #require(try local.database().value("SELECT \(column) FROM card_binding").blob)
        for index in [0, bytes.count / 2, bytes.count - 1] {
            var changed = bytes
            changed[index] ^= 1
            try local.forge("UPDATE card_binding SET \(column) = ?", [.blob(changed)])
            let reopened = try local.reopened()
            let isOpen = try? reopened.unlock(with: [desk.token], use: "read", authentication: .owner)
            #expect(isOpen != true)
            #expect(reopened.isLocked)
        }
    }

    @Test func aDamagedBindingIsNotMadeGoodByAnotherHidesNoneAndCanBeUndone() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try local.database().execute(
            "INSERT INTO card_binding SELECT 7, 'other', reference, label, public_key, algorithm, exchange, salt, wrapped_key, NULL, proof FROM card_binding"
        )
        try local.keychain.bind(to: desk.token, authentication: .owner)
        #expect(throws: KeychainError(.decode)) { try local.keychain.checkCardBindings() }
        #expect(try local.keychain.cardBindings().count == 1)
        #expect(try local.reopened().unlock(with: [desk.token], use: "read", authentication: .owner))
        #expect(try local.keychain.unbind() == 2)
        try local.keychain.checkCardBindings()
        #expect(try local.keychain.cardBindings().isEmpty)
    }

    /// A script's line may be the password or the PIN: it opens the card even if the password's row is damaged.
    @Test(arguments: ["scrypt_n = 4", "scrypt_n = 3", "salt = zeroblob(32)", "wrapped_key = zeroblob(60)"])
    func aCardOpensWhatItsDamagedPasswordDoesNot(assignment: String) throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try local.database().execute("UPDATE keychain SET \(assignment)")
        let script = AuthenticationContext(prompter: AnswersByScript("123456"), cards: [desk.token])
        let reopened = try local.reopened()
        try reopened.unlock(use: "read", authentication: script)
        #expect(try read(reopened) == "s3cret")
    }

    @Test func aDamagedKeychainIsNotBlamedOnItsCard() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try local.database().execute("UPDATE keychain SET uuid = zeroblob(16)")
        let person = TypesInTurn("123456", "correct")
        let context = AuthenticationContext(prompter: person, cards: [desk.token])
        let reopened = try local.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try reopened.unlock(use: "read", authentication: context) }
        #expect(!person.requests.contains { $0.purpose == .password }, "which could not open it either")
    }

    @Test func aBindingOfAnotherKeychainOpensNothing() throws {
        let desk = try desk()
        let other = try TestKeychain()
        for keychain in [local.keychain, other.keychain] {
            try keychain.bind(to: desk.token, authentication: .owner)
        }
        let theirs = try #require(try other.keychain.cardBindings().first)
        try CardBindingTable.put(theirs.row, in: try local.database())
        let reopened = try local.reopened()
        #expect(throws: KeychainError(.dataNotAvailable)) {
            try reopened.unlock(with: [desk.token], use: "read", authentication: .owner)
        }
    }

    @Test func theKeychainsKeyIsNotInTheFile() throws {
        let key = try local.keychain.state.withLock { opened throws(KeychainError) -> [UInt8] in
            switch opened.key {
            case .some(let key): key.copiedBytes
            case .none: []
            }
        }
        #expect(key.count == 32)
        try local.keychain.bind(to: desk().token, authentication: .owner)
        for suffix in ["", "-wal"] {
            guard let bytes = try? local.folder.read("test.keychain\(suffix)") else { continue }
            for start in bytes.indices.dropLast(32) where bytes[start] == key[0] {
                #expect(Array(bytes[start..<start + 32]) != key)
            }
        }
    }

    // MARK: - On the way to a secret

    @Test func aKeyIsUsedWithThePINInPlaceOfThePassword() throws {
        let desk = try desk()
        try local.add(try TestKey.named("anna").privateKey, [.label: "mine"])
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let key = try #require(try local.reopened().keys(.name("mine")).first)
        let person = TypesInTurn("123456")
        _ = try key.sign(AuthenticationContext(prompter: person, cards: [desk.token]))
        #expect(person.requests.map(\.purpose) == [.pin])
    }

    @Test func whereTheCardCannotThePasswordIsAskedFor() throws {
        let (blocked, absent) = (try desk(), Desk(VirtualReader()))
        try local.keychain.bind(to: blocked.token, authentication: .owner)
        for (token, failed) in [(try desk(name: "new").token, true), (absent.token, false)] {
            let person = TypesInTurn("correct")
            let reopened = try local.reopened()
            try reopened.unlock(
                use: "read", authentication: AuthenticationContext(prompter: person, cards: [token]))
            #expect(person.requests.map(\.purpose) == [.password])
            #expect((person.requests.first?.failure != nil) == failed)
        }
        let renewed = try desk(name: "new")
        let context = AuthenticationContext(cards: [renewed.token])
        context.setCredential(.of("correct"), .password)
        let reopened = try local.reopened()
        try reopened.unlock(use: "read", authentication: context)
        #expect(!reopened.isLocked)
    }

    @Test func thePasswordOfTheContextComesBeforeTheCardsPIN() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let before = desk.pinsSent
        let person = TypesInTurn("123456", "123456")
        let context = AuthenticationContext(prompter: person, cards: [desk.token])
        context.setCredential(.of("correct"), .password)
        let reopened = try local.reopened()
        try reopened.unlock(use: "read", authentication: context)
        try reopened.confirmPresence(use: "read", authentication: context)
        #expect(person.requests.isEmpty && desk.pinsSent == before)
        // A wrong password is forgotten, without a question for another.
        context.setCredential(.of("wrong"), .password)
        reopened.lock()
        #expect(throws: KeychainError(.authFailed)) { try reopened.unlock(use: "read", authentication: context) }
        #expect(person.requests.isEmpty && desk.pinsSent == before)
        #expect(!context.hasCredential(.password))
    }

    @Test func aWrongPINOfTheContextEndsTheUnlocking() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let person = TypesInTurn("correct")
        let context = AuthenticationContext(prompter: person, cards: [desk.token])
        context.setCredential(.of("000000"), .pin)
        let error = #expect(throws: KeychainError(.authFailed)) {
            try local.reopened().unlock(use: "read", authentication: context)
        }
        #expect(error?.triesLeft == 2)
        #expect(person.requests.isEmpty)
    }

    @Test func thePINOfTheContextOpensWhatItsCardIsBoundTo() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let context = AuthenticationContext(cards: [desk.token])
        context.setCredential(.of("123456"), .pin)
        let reopened = try local.reopened()
        try reopened.unlock(use: "read", authentication: context)
        #expect(!reopened.isLocked)
    }

    @Test func aScriptWithAWrongPINIsNotAskedForThePassword() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let script = AnswersByScript("000000", "correct")
        let error = #expect(throws: KeychainError(.authFailed)) {
            try local.reopened().unlock(
                use: "read", authentication: AuthenticationContext(prompter: script, cards: [desk.token]))
        }
        #expect(error?.triesLeft == 2)
        #expect(script.timesAsked == 1)
    }

    @Test func whoGivesUpAtThePINIsNotAskedForThePassword() throws {
        let desk = try desk()
        try local.keychain.bind(to: desk.token, authentication: .owner)
        try desk.token.reset()
        let person = TypesInTurn()
        #expect(throws: KeychainError(.userCanceled)) {
            try local.reopened().unlock(
                use: "read", authentication: AuthenticationContext(prompter: person, cards: [desk.token]))
        }
        #expect(person.requests.count == 1)
    }
}

extension LocalKeychain {
    /// Unlocks with the first bound card that is in one of the readers; false where none of them is in.
    func unlock(
        with tokens: [TokenKeychain], use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Bool {
        guard let key = try boundKey(with: tokens, use: use, afresh: false, authentication: authentication) else {
            return false
        }
        try unlock(key: key)
        return true
    }
}
