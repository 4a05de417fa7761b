import Glibc
import HostAPI
import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Added items get the protection of the call or keep their own, and a failed call adds nothing. Keychain semantics 1.8 and 3.2.
@Suite struct AddingTests {
    private let local: TestKeychain
    private let other: TestKeychain
    private let session: KeychainSession

    init() throws {
        (local, other) = (try TestKeychain(), try TestKeychain())
        session = KeychainSession(
            searchList: SearchList(locals: [other.keychain, local.keychain]), defaultKeychain: local.keychain)
    }

    private func control(_ protection: AttributeValue, _ flags: AccessControl.Flags) throws -> [UInt8] {
        try AccessControl(protection, flags).encoded()
    }

    /// The session of a program that gives a credential.
    private func giving(_ text: String, _ kind: CredentialKind) -> KeychainSession {
        let context = AuthenticationContext()
        context.setCredential(.of(text), kind)
        return session.asking(context)
    }

    private var count: Int {
        get throws { try ItemClass.stored.reduce(0) { try $0 + local.count($1) } }
    }

    private func key(in keychain: TestKeychain) throws -> Item {
        try #require(try keychain.keychain.items(matching: Query(.key, [.keyClass: 1])).found.first)
    }

    // MARK: - Keychains that are only read

    @Test func aKeychainThatCannotBeWrittenAsksForNothing() throws {
        let anna = try TestKey.named("anna")
        let source = try other.add(anna.privateKey, [.label: "source"])
        other.keychain.lock()
        chmod(local.path, 0o400)
        defer { chmod(local.path, 0o600) }
        let readOnly = try local.reopened()
        let person = TypesInTurn("correct")
        let session = KeychainSession(
            searchList: SearchList(locals: [other.keychain, readOnly]), defaultKeychain: readOnly,
            authentication: AuthenticationContext(prompter: person))
        let password: ItemDictionary = ["class": .string("genp"), "acct": .string("a"), "v_Data": .data([1])]
        let items: [ItemDictionary] = [
            password, password.merging(["accc": .data(try control("ak", .applicationPassword))]) { $1 },
            ["v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey))], ["v_Ref": .reference(.item(source))],
        ]
        for item in items { expect(.readOnly) { try session.add(item) } }
        expect(.readOnly) {
            try session.host.configure(
                readOnly.identifier, KeychainSettings(locksOnSleep: true), RequestContext())
        }
        #expect(person.requests.isEmpty)
    }

    // MARK: - Identities

    @Test(arguments: [AccessControl.Flags.userPresence, [.userPresence, .privateKeyUsage]])
    func anIdentitysAccessControlGuardsItsKey(flags: AccessControl.Flags) throws {
        let anna = try TestKey.named("anna")
        _ = try session.add([
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)),
            "accc": .data(try control("aku", flags)), "labl": .string("Anna"),
        ])
        let stored = try key(in: local)
        #expect(try stored.accessControl?.flags == flags)
        #expect(stored[.accessible] == "aku")
        let key = try session.key(of: stored)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try key.sign(.nobody) }
        let person = TypesInTurn("correct")
        _ = try key.sign(AuthenticationContext(prompter: person))
        #expect(person.requests.count == 1)
    }

    @Test func anIdentitysAccessibilityIsItsKeys() throws {
        let anna = try TestKey.named("anna")
        _ = try session.add([
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)), "pdmn": .string("cku"),
        ])
        #expect(try key(in: local)[.accessible] == "cku")
    }

    @Test func theKeyOfAnIdentityIsUnderItsApplicationPassword() throws {
        let anna = try TestKey.named("anna")
        let item: ItemDictionary = [
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)),
            "accc": .data(try control("ak", .applicationPassword)),
        ]
        expect(.interactionNotAllowed) { try session.add(item) }
        #expect(try count == 0)
        _ = try giving("app", .applicationPassword).add(item)
        let key = try session.key(of: key(in: local))
        #expect(throws: KeychainError(.interactionNotAllowed)) { try key.sign(.nobody) }
    }

    @Test func aKeyThatIsThereIsNotLeftLessProtectedThanAsked() throws {
        let anna = try TestKey.named("anna")
        _ = try local.add(anna.privateKey)
        let item: ItemDictionary = ["v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey))]
        expect(.duplicateItem, key: "accc") {
            try session.add(item.merging(["accc": .data(try control("aku", .userPresence))]) { $1 })
        }
        expect(.duplicateItem, key: "pdmn") { try session.add(item.merging(["pdmn": .string("aku")]) { $1 }) }
        #expect(try count == 1)
        _ = try session.add(item.merging(["pdmn": .string("ak")]) { $1 })
        #expect(try count == 2)
    }

    @Test func anIdentityWhoseHalvesAreCalledOtherwiseIsAddedWhole() throws {
        let anna = try TestKey.named("anna")
        let item: ItemDictionary = [
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)), "ctyp": .number(7),
            "r_Attributes": .bool(true),
        ]
        #expect(try session.add(item)?.dictionary?["ctyp"]?.number == 7)
        expect(.duplicateItem) { try session.add(item) }
        #expect(try count == 2)
    }

    @Test func anIdentityIsMadeOfTheHalfThatIsThere() throws {
        let anna = try TestKey.named("anna")
        let item: ItemDictionary = [
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)), "r_Ref": .bool(true),
        ]
        let tagged = try local.add(anna.privateKey, [.applicationTag: "another row of the same key"])
        let plain = try local.add(anna.privateKey)
        let identity = try #require(try session.add(item)?.identity)
        #expect(identity.key == plain && identity.key != tagged)
        _ = try local.keychain.delete(matching: Query(plain.reference))
        let again = try #require(try session.add(item)?.identity)
        #expect(again.certificate == identity.certificate && again.key.reference != plain.reference)
    }

    // MARK: - Copies

    private func copy(
        _ item: Item, _ more: ItemDictionary = [:], by client: KeychainSession? = nil
    ) throws -> ItemValue? {
        try (client ?? session).add(["v_Ref": .reference(.item(item))].merging(more) { $1 })
    }

    @Test func aCopyOfAKeyIsAsSensitiveAsTheKey() throws {
        let original = try other.add(TestKey.named("anna").privateKey, [.isSensitive: true, .canDecrypt: false])
        expect(.readOnlyAttribute, key: "sens") { try copy(original, ["sens": .bool(false)]) }
        expect(.readOnlyAttribute, key: "decr") { try copy(original, ["decr": .bool(true)]) }
        expect(.keyIsSensitive) { try copy(original, ["r_Data": .bool(true)]) }
        #expect(try count == 0)
        _ = try copy(original, ["labl": .string("copy")])
        let made = try key(in: local)
        #expect(made[.isSensitive] == true && made[.canDecrypt] == false && made.label == "copy")
        expect(.keyIsSensitive) { try session.copyMatching(["v_Ref": .reference(.item(made)), "r_Data": .bool(true)]) }
    }

    @Test func aCopyOfAKeyIsGuardedAsTheKey() throws {
        let control = try control("aku", .userPresence)
        let original = try other.add(TestKey.named("anna").privateKey, [.accessControl: .data(control)])
        let asking = giving("correct", .password)
        expect(.interactionNotAllowed) { try copy(original) }
        let looser: [(ItemDictionary, ErrSec, String)] = [
            (["accc": .data(try self.control("aku", []))], .readOnlyAttribute, "accc"),
            (["pdmn": .string("dk")], .readOnlyAttribute, "pdmn"),
            (["pdmn": .string("akpu")], .param, "pdmn"),
        ]
        for (more, code, key) in looser { expect(code, key: key) { try copy(original, more, by: asking) } }
        #expect(try count == 0)
        _ = try copy(original, by: asking)
        let made = try key(in: local)
        #expect(made[.accessControl]?.bytes == control && made[.accessible] == "aku")
        #expect(throws: KeychainError(.interactionNotAllowed)) { try session.key(of: made).sign(.nobody) }
    }

    @Test func aCopyOfAKeyUnderAnApplicationPasswordIsUnderIt() throws {
        let control = try control("ak", .applicationPassword)
        let original = try other.keychain.add(
            .privateKey(TestKey.named("anna").privateKey, [.accessControl: .data(control)]),
            authentication: { () -> AuthenticationContext in
                let context = AuthenticationContext()
                context.setCredential(.of("app"), .applicationPassword)
                return context
            }(), cost: .negligible)
        expect(.interactionNotAllowed) { try copy(original) }
        _ = try copy(original, by: giving("app", .applicationPassword))
        #expect(throws: KeychainError(.interactionNotAllowed)) { try session.key(of: key(in: local)).sign(.nobody) }
    }

    @Test(arguments: [
        ("ak", "ck", true), ("ck", "dk", true), ("aku", "ak", true), ("akpu", "aku", true), ("dku", "dk", true),
        ("dk", "ak", false), ("ck", "aku", false), ("aku", "akpu", false), ("ck", "ck", false),
    ])
    func aCopyIsReadableInNoMoreCases(old: String, new: String, isRefused: Bool) throws {
        let original = try other.add(TestKey.named("anna").privateKey, [.accessible: .string(old)])
        if isRefused {
            expect(.readOnlyAttribute, key: "pdmn") { try copy(original, ["pdmn": .string(new)]) }
            _ = try copy(original)
        } else {
            _ = try copy(original, ["pdmn": .string(new)])
        }
        #expect(try key(in: local)[.accessible] == .string(isRefused ? old : new))
    }

    @Test func theKeyOfAnIdentityIsCopiedAsItWasProtected() throws {
        let anna = try TestKey.named("anna")
        let certificate = try other.add(anna.certificate)
        let key = try other.add(anna.privateKey, [.isSensitive: true, .accessible: "cku"])
        let item: ItemDictionary = ["v_Ref": .reference(.identity(Identity(certificate: certificate, key: key)))]
        expect(.readOnlyAttribute, key: "sens") { try session.add(item.merging(["sens": .bool(false)]) { $1 }) }
        #expect(try count == 0)
        _ = try session.add(item)
        let made = try self.key(in: local)
        #expect(made[.isSensitive] == true && made[.accessible] == "cku")
    }

    // MARK: - All or nothing

    @Test func whatCannotBeAnsweredIsNotAdded() throws {
        let anna = try TestKey.named("anna")
        let key: ItemDictionary = ["v_Ref": .reference(.privateKey(anna.privateKey)), "r_Data": .bool(true)]
        expect(.dataNotAvailable) { try session.add(key.merging(["extr": .bool(false)]) { $1 }) }
        expect(.keyIsSensitive) { try session.add(key.merging(["sens": .bool(true)]) { $1 }) }
        #expect(try count == 0)
        let both: ItemDictionary = key.merging(["extr": .bool(false), "r_Attributes": .bool(true)]) { $1 }
        let answer = try #require(try session.add(both)?.dictionary)
        #expect(answer["v_Data"] == nil && answer["kcls"] != nil)
    }

    @Test func nobodyIsAskedForWhatHasJustBeenGiven() throws {
        let item: ItemDictionary = [
            "class": .string("genp"), "acct": .string("a"), "accc": .data(try control("ak", .userPresence)),
            "v_Data": .data(Array("s3cret".utf8)), "r_Data": .bool(true), "u_AuthUI": .string("u_AuthUIF"),
        ]
        #expect(try session.add(item)?.bytes == Array("s3cret".utf8))
        #expect(try count == 1)
    }

    @Test func theDataOfAnAdditionIsThatOfASearch() throws {
        let anna = try TestKey.named("anna")
        let references: [(ItemReference, String)] = [
            (.privateKey(anna.privateKey), "keys"), (.publicKey(anna.publicKey), "keys"),
            (.certificate(anna.certificate), "cert"),
        ]
        for (reference, itemClass) in references {
            let added = try session.add(["v_Ref": .reference(reference), "r_Data": .bool(true)])?.bytes
            let found = try session.copyMatching(["class": .string(itemClass), "r_Data": .bool(true)]).found?.bytes
            #expect(added != nil && added == found)
            try session.delete(["class": .string(itemClass)])
        }
        let pair: ItemDictionary = [
            "v_Ref": .reference(.keyPair(anna.certificate, anna.privateKey)), "r_Data": .bool(true),
        ]
        #expect(try session.add(pair)?.bytes == anna.certificate.der)
    }
}
