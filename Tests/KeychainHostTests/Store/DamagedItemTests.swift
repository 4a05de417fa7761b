import Glibc
import ItemDictionaries
import KeychainStore
import SecureBytes
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// A damaged item may have been another one than it appears to be: operations on other items skip it and report it.
@Suite struct DamagedItemTests {
    private let test: TestKeychain
    private let target: Item
    private let session: KeychainSession

    init() throws {
        test = try TestKeychain()
        target = try test.addPassword("target", secret: "target's", [.label: "L", .comment: "c"])
        try test.addPassword("neighbour", secret: "neighbour's")
        session = KeychainSession(searchList: SearchList(locals: [test.keychain]))
    }

    private func damage(_ assignment: String) throws {
        try test.database().execute("UPDATE genp SET \(assignment) WHERE acct = 'target'")
    }

    private func dictionary(_ account: String) -> ItemDictionary {
        ["class": .string("genp"), "acct": .string(account)]
    }

    private var accounts: [String?] {
        get throws { try test.passwords().map { $0[.account]?.string } }
    }

    // MARK: Searching

    /// Programs add an item that is not found: only a damaged item that may be the wanted one replaces `itemNotFound`.
    @Test(arguments: [
        ("icmt = 'd'", "nobody", ErrSec.itemNotFound), ("icmt = 'd'", "target", .decode),
        // The row fits its checksum with the account that is asked for, so that it was stored with it.
        ("acct = 'other'", "target", .decode), ("acct = 'other'", "nobody", .itemNotFound),
        ("acct = CAST('other' AS BLOB)", "target", .decode),
        // A value that cannot be read may have been any value.
        ("acct = 1.5", "nobody", .decode), ("acct = 1.5, svce = 'other'", "nobody", .itemNotFound),
        // With two damaged columns, the checksum tells.
        ("acct = 1.5, svce = 'other'", "target", .decode), ("acct = 'other', svce = 'other'", "target", .decode),
        ("acct = CAST('other' AS BLOB), svce = 1.5", "target", .decode),
    ])
    func otherItemsAreMissingBesideIt(assignment: String, account: String, code: ErrSec) throws {
        try damage(assignment)
        let query = dictionary(account).merging(["svce": .string("mail"), "r_Attributes": .bool(true)]) { $1 }
        let error = try #require(throws: KeychainError(code)) { try session.copyMatching(query) }
        let gap = "'\(test.keychain.name)': a generic password that was not asked for has been altered"
        #expect(error.reason.contains(gap) == (code == .itemNotFound))
        let found = try session.searchList.items(
            matching: Query.genericPasswords.where(.service, "mail").where(.account, account).checked())
        #expect(found.found.isEmpty)
        #expect(found.missing.map(\.error) == [KeychainError(.decode)])
        #expect(found.missing.map(\.kind) == [code == .itemNotFound ? .unrelatedDamagedItem : .damagedItem])
        #expect(found.missing.map(\.keychain) == [test.keychain.name])
    }

    @Test(
        arguments: [
            (["labl": "L", "icmt": "c"], ErrSec.decode), (["labl": "other", "icmt": "c"], .itemNotFound),
            (["labl": "L", "icmt": "other"], .itemNotFound), (["labl": "other"], .itemNotFound),
            (["icmt": "c"], .decode),
        ] as [([String: String], ErrSec)])
    func aLabelAndACommentTellWhetherItIsMeant(wanted: [String: String], code: ErrSec) throws {
        try damage("labl = 'M', icmt = 1.5")
        let query = wanted.mapValues { ItemValue.string($0) }
            .merging(["class": .string("genp"), "r_Attributes": .bool(true)]) { $1 }
        #expect(throws: KeychainError(code)) { try session.copyMatching(query) }
    }

    /// SQL has no condition for a text that is compared loosely, and so finds each damaged row.
    @Test(arguments: [("nobody", ErrSec.itemNotFound), ("TARGET", .decode)])
    func itIsNotMetByEachSearchWithoutRegardToCase(account: String, code: ErrSec) throws {
        try damage("icmt = 'd'")
        let query = dictionary(account).merging(["m_CaseInsensitive": .bool(true), "r_Attributes": .bool(true)]) { $1 }
        #expect(throws: KeychainError(code)) { try session.copyMatching(query) }
    }

    @Test(arguments: [("icmt = 'd'", ErrSec.itemNotFound), ("agrp = 'other'", .decode)])
    func itIsNotMeantByAProgramWithoutItsGroup(assignment: String, code: ErrSec) throws {
        let groups = code == .decode ? ["strangers", AccessGroup.standard] : ["strangers"]
        try damage(assignment)
        let stranger = KeychainSession(
            searchList: SearchList(locals: [test.keychain]), accessGroups: AccessGroups(groups))
        #expect(throws: KeychainError(code)) {
            try stranger.copyMatching(dictionary("target").merging(["r_Attributes": .bool(true)]) { $1 })
        }
    }

    @Test func anotherKeyIsMissingBesideADamagedOne() throws {
        try test.add(TestKey.named("anna").privateKey, [.label: "mine"])
        try test.database().execute("UPDATE keys SET edat = 1")
        #expect(try test.keychain.keys(.label("other")).isEmpty)
        #expect(throws: KeychainError(.decode)) { try test.keychain.keys(.label("mine")) }
    }

    // MARK: Deleting

    @Test(arguments: ["acct = 'other'", "labl = 1.5, acct = 'other'"])
    func itIsDeletedByItsReferenceAlone(assignment: String) throws {
        try damage(assignment)
        let other = try Query(.genericPassword, [.account: "other"])
        #expect(throws: KeychainError(.decode)) { try test.keychain.delete(matching: other) }
        #expect(throws: KeychainError(.decode)) { try session.delete(dictionary("other")) }
        #expect(try test.keychain.delete(matching: Query(.genericPassword)) == 1, "what is sound goes")
        #expect(try test.keychain.delete(matching: Query(target.reference)) == 1)
        #expect(try test.keychain.items(matching: Query(.genericPassword, limit: .all)).missing.isEmpty)
    }

    /// Programs delete an item that may not exist before they add it.
    @Test func whatDoesNotMatchItIsDeletedAndAddedAsEver() throws {
        try damage("acct = 'other'")
        #expect(throws: KeychainError(.itemNotFound)) { try session.delete(dictionary("target")) }
        #expect(throws: KeychainError(.itemNotFound)) { try session.delete(dictionary("nobody")) }
        #expect(try test.addPassword("target")[.account] == "target")
        try session.delete(dictionary("target"))
    }

    @Test func whatStaysIsTold() throws {
        try damage("icmt = 'd'")
        let deleted = try session.delete(["class": .string("genp"), "svce": .string("mail")])
        #expect(deleted.found == 1)
        #expect(deleted.missing.map(\.error) == [KeychainError(.decode)])
        #expect(deleted.missing.map(\.kind) == [.damagedItem])
        #expect(try accounts == [])
    }

    @Test func itsErrorNamesWhatDeletesIt() throws {
        try damage("icmt = 'd'")
        let error = try #require(throws: KeychainError.self) {
            try session.copyMatching(dictionary("target").merging(["r_Attributes": .bool(true)]) { $1 })
        }
        let reference = target.reference.encoded()
        #expect(error.remedy?.contains("v_PersistentRef=\(Hex.encode(reference))'") == true)
        try session.delete(["v_PersistentRef": .data(reference)])
        #expect(try accounts == ["neighbour"])
    }

    @Test func aProgramOfAnotherGroupIsNeitherToldOfItNorDeletesIt() throws {
        try damage("icmt = 'd'")
        let stranger = KeychainSession(
            searchList: SearchList(locals: [test.keychain]), accessGroups: AccessGroups(["strangers"]))
        let reference: ItemDictionary = ["v_PersistentRef": .data(target.reference.encoded())]
        #expect(throws: KeychainError(.itemNotFound)) { try stranger.delete(reference) }
        let error = try #require(throws: KeychainError.self) {
            try stranger.copyMatching(dictionary("target").merging(["r_Attributes": .bool(true)]) { $1 })
        }
        #expect(!error.description.contains(Hex.encode(target.reference.encoded())))
        #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
    }

    @Test func inAFileThatIsOnlyReadItIsNotDeleted() throws {
        try damage("icmt = 'd'")
        chmod(test.path, 0o400)
        defer { chmod(test.path, 0o600) }
        let session = KeychainSession(searchList: SearchList(locals: [try test.reopened()]))
        #expect(throws: KeychainError(.readOnly)) {
            try session.delete(["v_PersistentRef": .data(target.reference.encoded())])
        }
    }

    /// Whoever damaged the item could undo the damage, and the item would then open without a password.
    @Test func withThePasswordGoDamagedItemsThatAskForOne() throws {
        try test.addPassword("bound", [.accessible: Accessibility.whenPasscodeSet])
        try test.database().execute("UPDATE genp SET icmt = 'd' WHERE acct = 'bound'")
        try test.keychain.changePassword(from: .of("correct"), to: .of(""), cost: .negligible)
        #expect(try test.database().value("SELECT count(*) FROM genp WHERE acct = 'bound'").integer == 0)
    }

    // MARK: Adding and changing

    @Test func itIsNoDuplicate() throws {
        try damage("acct = 'other'")
        #expect(throws: KeychainError(.decode)) { try test.addPassword("other") }
        let neighbour = try #require(try test.passwords([.account: "neighbour"]).first)
        #expect(throws: KeychainError(.decode)) {
            try test.keychain.update(matching: Query(neighbour.reference), to: ItemChanges([.account: "other"]))
        }
        #expect(throws: KeychainError(.duplicateItem)) { try test.addPassword("neighbour") }
    }

    @Test func whatOnlySharesAnAccountWithItIsNotInTheWay() throws {
        try damage("svce = NULL")
        try test.addPassword("target", service: "sound")
        let error = try #require(throws: KeychainError.self) {
            try test.keychain.add(.genericPassword([.account: "target"], secret: .of("x")))
        }
        #expect(error.code == .decode)
        #expect(throws: KeychainError(.duplicateItem)) { try test.addPassword("target", service: "sound") }
    }

    @Test func itKeepsNoItemOfAnotherFileFromBeingChanged() throws {
        try damage("icmt = 'd'")
        let other = try TestKeychain()
        try other.addPassword("target", secret: "sound")
        let both = SearchList(locals: [test.keychain, other.keychain])
        let session = KeychainSession(searchList: both)
        #expect(try session.update(dictionary("target"), to: ["icmt": .string("new")]).found == 1)
        #expect(try other.passwords()[0][.comment] == "new")
        try session.delete(dictionary("target"))
        #expect(try other.passwords().isEmpty)
    }
}
