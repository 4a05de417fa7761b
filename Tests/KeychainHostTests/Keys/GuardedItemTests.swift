import HostAPI
import ItemDictionaries
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// The questions of an access control before a secret is used. Keychain semantics 3.2 and 3.3.
@Suite struct GuardedItemTests {
    private let local: TestKeychain

    init() throws { local = try TestKeychain() }

    private func attributes(_ flags: AccessControl.Flags) throws -> Attributes {
        [.label: "mail", .service: "mail", .accessControl: .data(try AccessControl("aku", flags).encoded())]
    }

    private func add(_ flags: AccessControl.Flags) throws -> Item {
        try local.keychain.add(.genericPassword(attributes(flags), secret: .of("s3cret")))
    }

    private func read(_ item: Item, _ context: AuthenticationContext) throws -> String? {
        guard let secret = try local.keychain.secret(of: item.reference, use: "read mail", authentication: context)
        else { return nil }
        return String(decoding: secret.copiedBytes, as: UTF8.self)
    }

    private func context(_ kind: CredentialKind, _ text: String) -> AuthenticationContext {
        let context = AuthenticationContext()
        context.setCredential(.of(text), kind)
        return context
    }

    // MARK: - Presence

    @Test(arguments: [AccessControl.Flags.userPresence, .devicePasscode, [.devicePasscode, .or, .biometryAny]])
    func thePasswordIsAskedForAtEachUse(flags: AccessControl.Flags) throws {
        let item = try add(flags)
        #expect(item[.accessible] == "aku")
        let person = TypesInTurn("correct", "wrong", "correct")
        for _ in 0..<2 { #expect(try read(item, AuthenticationContext(prompter: person)) == "s3cret") }
        #expect(person.requests.map(\.purpose) == [.password, .password, .password])
        #expect(person.requests.map { $0.failure != nil } == [false, false, true])
        #expect(person.requests.first?.sentence == "password for 'test' to read mail")
    }

    @Test func theAnswerThatUnlocksTheKeychainShowsPresence() throws {
        let item = try add(.userPresence)
        local.keychain.lock()
        let person = TypesInTurn("correct", "correct")
        #expect(try read(item, AuthenticationContext(prompter: person)) == "s3cret")
        #expect(person.requests.count == 1)
        #expect(!local.keychain.isLocked)
        #expect(try read(item, AuthenticationContext(prompter: person)) == "s3cret")
        #expect(person.requests.count == 2)
    }

    @Test func aContextThatRemembersPresenceIsAskedOnceForAllItemsOfItsKeychain() throws {
        let items = try ["a", "b"].map { account in
            try local.addPassword(account, [.accessControl: attributes(.userPresence)[.accessControl] ?? ""])
        }
        let person = TypesInTurn("wrong", "correct", "correct", "correct")
        let context = AuthenticationContext(prompter: person).rememberingPresence()
        for item in items + items { #expect(try read(item, context) == "s3cret") }
        #expect(person.requests.count == 2)
        #expect(try read(items[0], context.withoutQuestions()) == "s3cret")
        // The presence does not count for another keychain, nor after the keychain was locked.
        let other = try TestKeychain()
        let foreign = try other.addPassword("a", [.accessControl: attributes(.userPresence)[.accessControl] ?? ""])
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            _ = try other.keychain.secret(
                of: foreign.reference, use: "read", authentication: context.withoutQuestions())
        }
        local.keychain.lock()
        #expect(try read(items[0], context) == "s3cret")
        #expect(person.requests.count == 3)
        #expect(try read(items[0], AuthenticationContext(prompter: person).rememberingPresence()) == "s3cret")
        #expect(person.requests.count == 4)
    }

    @Test func anUnlockedKeychainIsNotEnough() throws {
        let item = try add(.userPresence)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, .nobody) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { _ = try local.keychain.secret(of: item.reference) }
        #expect(throws: KeychainError(.userCanceled)) { try read(item, AuthenticationContext(prompter: TypesInTurn())) }
        #expect(throws: KeychainError(.authFailed)) { try read(item, context(.password, "wrong")) }
        #expect(try read(item, context(.password, "correct")) == "s3cret")
    }

    @Test func whereAskingIsForbiddenItFailsAtOnce() throws {
        let item = try add(.userPresence)
        let person = TypesInTurn("correct")
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try read(item, AuthenticationContext(prompter: person).withoutQuestions())
        }
        #expect(person.requests.isEmpty)
    }

    @Test func thePINOfABoundCardDoesAsWellAndIsPresentedEachTime() throws {
        let desk = try Desk(TestCard(profile: .yubiKey57, slots: [.keyManagement]))
        try local.keychain.bind(to: desk.token, authentication: .owner)
        let item = try add(.userPresence)
        let person = TypesInTurn("123456", "123456")
        let before = desk.pinsSent
        for _ in 0..<2 {
            #expect(try read(item, AuthenticationContext(prompter: person, cards: [desk.token])) == "s3cret")
        }
        #expect(person.requests.map(\.purpose) == [.pin, .pin])
        #expect(desk.pinsSent == before + 2)
    }

    @Test func aGuardedKeyAsksBeforeEachSignature() throws {
        for flags in [AccessControl.Flags.userPresence, [.userPresence, .privateKeyUsage]] {
            let local = try TestKeychain()
            let control = AttributeValue.data(try AccessControl("ak", flags).encoded())
            try local.keychain.generateKeyPair(.ecP256, [.label: "mine"], privateAttributes: [.accessControl: control])
            let key = try #require(try local.keychain.keys(.name("mine")).first)
            #expect(throws: KeychainError(.interactionNotAllowed)) { try key.sign(.nobody) }
            let person = TypesInTurn("correct", "correct")
            for _ in 0..<2 { _ = try key.sign(AuthenticationContext(prompter: person)) }
            #expect(person.requests.count == 2)
            #expect(throws: KeychainError(.interactionNotAllowed)) {
                try local.keychain.exportKey(
                    try #require(
                        try local.keychain.items(
                            matching: Query(.key, [.keyClass: 1])
                        ).found.first
                    ).reference)
            }
        }
    }

    @Test func searchingChangingAndDeletingStayOpen() throws {
        let item = try add(.userPresence)
        #expect(try local.passwords() == [item])
        try local.keychain.update(matching: Query(item.reference), to: ItemChanges([.comment: "x"]))
        #expect(try read(item, context(.password, "correct")) == "s3cret")
        try local.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("new")))
        #expect(try read(item, context(.password, "correct")) == "new")
        #expect(try local.keychain.delete(matching: Query(item.reference)) == 1)
    }

    @Test func withoutFlagsOnlyTheAccessibilityFollows() throws {
        let item = try add([])
        #expect(item[.accessible] == "aku")
        #expect(try read(item, .nobody) == "s3cret")
        #expect(try local.secretText(item) == "s3cret")
    }

    @Test func anAccessibilityThatContradictsIsRefused() throws {
        var given = try attributes(.userPresence)
        given[.accessible] = "ak"
        #expect(throws: KeychainError(.param)) { _ = try NewItem.genericPassword(given, secret: nil) }
        given[.accessible] = "aku"
        _ = try NewItem.genericPassword(given, secret: nil)
        let item = try add(.userPresence)
        #expect(throws: KeychainError(.param)) {
            try local.keychain.update(matching: Query(item.reference), to: ItemChanges([.accessible: "ak"]))
        }
        #expect(throws: KeychainError(.param)) {
            _ = try NewItem.genericPassword([.accessControl: .data([1, 2, 3])], secret: nil)
        }
    }

    @Test func anAccessControlThatWasTakenOutOfTheFileOpensNothing() throws {
        let item = try add(.userPresence)
        try local.forge("UPDATE genp SET accc = NULL")
        #expect(throws: KeychainError(.decode)) { _ = try local.keychain.secret(of: item.reference) }
        #expect(throws: KeychainError(.decode)) { try read(item, context(.password, "correct")) }
    }

    // MARK: - Application passwords

    private func addSealed(_ password: String = "app", _ flags: AccessControl.Flags = .applicationPassword) throws
        -> Item
    {
        try local.keychain.add(
            .genericPassword(attributes(flags), secret: .of("s3cret")),
            authentication: context(.applicationPassword, password), cost: .negligible)
    }

    @Test func anApplicationPasswordIsASecondKey() throws {
        let item = try addSealed()
        #expect(try read(item, context(.applicationPassword, "app")) == "s3cret")
        let wrong = context(.applicationPassword, "other")
        #expect(throws: KeychainError(.authFailed)) { try read(item, wrong) }
        #expect(!wrong.hasCredential(.applicationPassword))
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, .nobody) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { _ = try local.keychain.secret(of: item.reference) }
        let person = TypesInTurn("app")
        #expect(try read(item, AuthenticationContext(prompter: person)) == "s3cret")
        #expect(person.requests.first?.subject == "mail")
        // The keychain's key alone does not decrypt the secret: it is still sealed under the application password.
        let stored = try local.keychain.state.withLock { opened throws(KeychainError) in
            try opened.secret(of: item.reference, isAuthorized: true)
        }
        guard let stored else {
            Issue.record("nothing was stored")
            return
        }
        let text = Array("s3cret".utf8)
        let bytes = stored.copiedBytes
        #expect(!bytes.indices.dropLast(text.count).contains { Array(bytes[$0..<$0 + text.count]) == text })
    }

    @Test func presenceAndApplicationPasswordAreBothWanted() throws {
        let item = try addSealed("app", [.userPresence, .applicationPassword])
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, context(.applicationPassword, "app")) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, context(.password, "correct")) }
        let both = context(.applicationPassword, "app")
        both.setCredential(.of("correct"), .password)
        #expect(try read(item, both) == "s3cret")
    }

    @Test func aKeyUnderAnApplicationPasswordSigns() throws {
        let key = try TestKey.named("anna").privateKey
        try local.keychain.add(
            .privateKey(key, attributes(.applicationPassword).filter { $0.key != .service }),
            authentication: context(.applicationPassword, "app"), cost: .negligible)
        let found = try #require(try local.keychain.keys(.name("mail")).first)
        _ = try found.sign(context(.applicationPassword, "app"))
        #expect(throws: KeychainError(.authFailed)) { try found.sign(context(.applicationPassword, "no")) }
    }

    @Test func withoutThePasswordNothingIsAddedOrReplaced() throws {
        #expect(throws: KeychainError(.interactionNotAllowed)) { try add(.applicationPassword) }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try local.keychain.add(
                .genericPassword(attributes(.applicationPassword), secret: .of("x")), authentication: .nobody)
        }
        #expect(try local.passwords().isEmpty)
        let item = try addSealed()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try local.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("new")))
        }
        try local.keychain.update(matching: Query(item.reference), to: ItemChanges([.comment: "x"]))
        #expect(try read(item, context(.applicationPassword, "app")) == "s3cret")
    }

    @Test func anItemUnderAnApplicationPasswordIsChangedWithIt() throws {
        let item = try addSealed()
        func change(_ context: AuthenticationContext) throws -> Int {
            try local.keychain.update(
                matching: Query(item.reference), to: ItemChanges([.comment: "x"], secret: .of("new")),
                authentication: context)
        }
        let wrong = context(.applicationPassword, "other")
        #expect(throws: KeychainError(.authFailed)) { try change(wrong) }
        #expect(!wrong.hasCredential(.applicationPassword))
        #expect(try read(item, context(.applicationPassword, "app")) == "s3cret")
        #expect(try change(context(.applicationPassword, "app")) == 1)
        let changed = try #require(try local.passwords().first)
        #expect(changed[.comment] == "x" && changed.reference == item.reference)
        #expect(try read(changed, context(.applicationPassword, "app")) == "new")
        #expect(throws: KeychainError(.authFailed)) { try read(changed, context(.applicationPassword, "other")) }
        let person = TypesInTurn("app")
        #expect(try change(AuthenticationContext(prompter: person)) == 1)
        #expect(person.requests.map(\.purpose) == [.password])
    }

    @Test func aProgramChangesAllThatItsApplicationPasswordOpens() throws {
        _ = try addSealed()
        try local.addPassword(service: "web")
        local.keychain.lock()
        let context = context(.applicationPassword, "app")
        context.setCredential(.of("correct"), .password)
        let session = KeychainSession(
            searchList: SearchList(locals: [local.keychain]), defaultKeychain: local.keychain, authentication: context)
        try session.update(["class": .string("genp")], to: ["v_Data": .data(Array("new".utf8))])
        for item in try local.passwords() { #expect(try read(item, context) == "new") }
        #expect(try local.passwords().count == 2)
    }

    @Test func whoChangesAnItemInALockedKeychainIsAskedForEachPasswordOnce() throws {
        _ = try addSealed()
        let other = try TestKeychain()
        try other.addPassword()
        local.keychain.lock()
        other.keychain.lock()
        let list = [local.keychain, other.keychain].sorted { $0.identifier.rawValue < $1.identifier.rawValue }
        for locals in [list, list.reversed()] {
            local.keychain.lock()
            other.keychain.lock()
            let person = AnswersByPurpose(keychain: "correct", item: "app")
            let session = KeychainSession(
                searchList: SearchList(locals: locals), authentication: AuthenticationContext(prompter: person))
            try session.update(["class": .string("genp")], to: ["v_Data": .data(Array("new".utf8))])
            #expect(person.subjects.sorted() == ["mail", "test", "test"])
        }
    }

    @Test func nobodyIsAskedForAChangeThatIsRefused() throws {
        let desk = try Desk()
        local.keychain.lock()
        try local.add(TestCard().key(.authentication).certificate)
        let person = TypesInTurn("correct")
        let session = KeychainSession(
            searchList: SearchList(tokens: [desk.token], locals: [local.keychain]),
            authentication: AuthenticationContext(prompter: person))
        expect(.dataNotModifiable) { try session.update(["class": .string("cert")], to: ["v_Data": .data([1])]) }
        expect(.readOnly) { try session.update(["class": .string("cert")], to: ["labl": .string("x")]) }
        expect(.itemNotFound) { try session.update(["class": .string("genp")], to: ["v_Data": .data([1])]) }
        #expect(person.requests.isEmpty)
    }

    @Test func anItemWithoutASecretNeedsNoPassword() throws {
        let item = try local.keychain.add(
            .genericPassword(attributes(.applicationPassword), secret: nil), authentication: .nobody)
        #expect(try read(item, .nobody) == nil)
        try local.keychain.update(
            matching: Query(item.reference), to: ItemChanges(secret: .of("late")),
            authentication: context(.applicationPassword, "app"))
        #expect(try read(item, context(.applicationPassword, "app")) == "late")
        #expect(throws: KeychainError(.authFailed)) { try read(item, context(.applicationPassword, "other")) }
    }

    @Test func noCutOrChangeOfASealOpens() throws {
        let keychain = UniqueID()
        let sealed = try ApplicationSeal.seal(
            .of("s3cret"), password: .of("app"), keychain: keychain, cost: .negligible
        ).copiedBytes
        func open(_ bytes: [UInt8], _ id: UniqueID) throws -> [UInt8] {
            try ApplicationSeal.open(Secret(copying: bytes.span), password: .of("app"), keychain: id).copiedBytes
        }
        #expect(try open(sealed, keychain) == Array("s3cret".utf8))
        #expect(throws: KeychainError.self) { try open(sealed, UniqueID()) }
        for count in 0..<sealed.count {
            #expect(throws: KeychainError.self) { try open(Array(sealed.prefix(count)), keychain) }
        }
        // A flipped top bit in the cost must be refused at once: that cost would take hours, or more memory than there is.
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x80
            #expect(throws: KeychainError.self) { try open(changed, keychain) }
        }
    }
}
