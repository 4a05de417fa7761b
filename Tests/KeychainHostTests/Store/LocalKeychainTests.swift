import Synchronization
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct LocalKeychainTests {
    @Test func whatIsAddedIsFoundWithItsAttributesAndSecret() throws {
        let test = try TestKeychain(clock: { 1_700_000_000 })
        let added = try test.addPassword(
            "anna", service: "mail", secret: "geheim", [.comment: "for work", .generic: .data([0, 1, 0xFF])])
        let found = try #require(try test.passwords([.account: "anna"]).first)
        #expect(found == added)
        #expect(
            found.attributes == [
                .account: "anna", .service: "mail", .comment: "for work", .generic: .data([0, 1, 0xFF]),
                .creationDate: .date(1_700_000_000), .modificationDate: .date(1_700_000_000), .accessGroup: "local",
                .synchronizable: 0, .accessible: "ak",
            ])
        #expect(found.keychain == test.keychain.identifier)
        #expect(!found.isOnToken && found.der == nil)
        #expect(try test.secretText(found) == "geheim")
    }

    @Test func theReturnedAttributesAreAQueryForTheSameItem() throws {
        let test = try TestKeychain()
        try test.addPassword("other")
        let item = try test.addPassword("anna", [.label: "L", .isInvisible: true, .creator: 7])
        #expect(try test.passwords(item.attributes) == [item])
    }

    @Test func aValueIsGivenBackAsTheKindItCameIn() throws {
        let test = try TestKeychain()
        let text = "nul \0 and ümlaut \u{1F511}"
        let item = try test.addPassword("x", [.account: .data([0x61, 0xFF, 0]), .generic: .string(text), .label: ""])
        let found = try #require(try test.passwords().first)
        #expect(found[.account] == .data([0x61, 0xFF, 0]))
        #expect(found[.generic] == .string(text))
        #expect(found[.label] == "")
        #expect(found == item)
    }

    @Test(
        arguments: [
            [.account: .data(Array("anna".utf8))], [.account: "anna"], [.service: "mail"], [.label: .data([0x4C])],
            [.creator: 7], [.creator: "7"], [.isInvisible: true], [.isInvisible: 1], [.synchronizable: "syna"],
            [.tokenID: ""], [.accessGroup: "local"], [:],
        ] as [Attributes])
    func attributesAreFoundByEquality(attributes: Attributes) throws {
        let test = try TestKeychain()
        let item = try test.addPassword("anna", service: "mail", [.label: "L", .creator: 7, .isInvisible: true])
        #expect(try test.passwords(attributes) == [item])
    }

    @Test(
        arguments: [
            [.account: "Anna"], [.account: "ann"], [.service: ""], [.label: "l"], [.creator: 8], [.isInvisible: false],
            [.synchronizable: 1], [.tokenID: "piv:1"], [.comment: ""], [.accessGroup: "other"],
        ] as [Attributes])
    func nothingElseIsFound(attributes: Attributes) throws {
        let test = try TestKeychain()
        try test.addPassword("anna", service: "mail", [.label: "L", .creator: 7, .isInvisible: true])
        #expect(try test.passwords(attributes).isEmpty)
    }

    @Test func sqlAndThePredicateFindTheSame() throws {
        let test = try TestKeychain()
        let values: [AttributeValue?] = [nil, "", "a", .data([0x61]), "A"]
        let pairs = values.flatMap { account in values.map { label in (account, label) } }
        func attributes(_ pair: (AttributeValue?, AttributeValue?)) -> Attributes {
            [Attribute.account: pair.0, .label: pair.1].compactMapValues { $0 }
        }
        for (index, pair) in pairs.enumerated() {
            let service: Attributes = [.service: .string("\(index)")]
            try test.keychain.add(.genericPassword(attributes(pair).merging(service) { $1 }, secret: nil))
        }
        let all = try test.passwords()
        #expect(all.count == pairs.count)
        for pair in pairs {
            let query = try Query(.genericPassword, attributes(pair), limit: .all)
            let found = try test.keychain.items(matching: query).found
            #expect(found == all.filter(query.matches))
            #expect(!found.isEmpty)
        }
    }

    @Test func itemsComeInTheOrderTheyWereAdded() throws {
        let test = try TestKeychain()
        let names = ["z", "a", "m", "b"]
        for name in names { try test.addPassword(name) }
        #expect(try test.passwords().map { $0[.account]?.string } == names)
        #expect(try test.passwords(limit: .one).map { $0[.account]?.string } == ["z"])
        #expect(try test.passwords(limit: .atMost(3)).count == 3)
        #expect(try test.passwords(limit: .atMost(9)).count == 4)
    }

    @Test func theLimitCountsWhatMatchesNotWhatSQLFound() throws {
        let test = try TestKeychain()
        for index in 0..<5 { try test.addPassword("\(index)", [.label: "x"]) }
        try test.addPassword("last", [.label: "WANTED"])
        let query = try Query(.genericPassword, [.label: "wanted"], folding: .case, limit: .one)
        #expect(try test.keychain.items(matching: query).found.map { $0[.account]?.string } == ["last"])
    }

    @Test func aQueryForOtherKeychainsFindsAndChangesNothing() throws {
        let test = try TestKeychain()
        try test.addPassword()
        let query = try Query(.genericPassword, in: [KeychainIdentifier(rawValue: "piv:1")], limit: .all)
        #expect(try test.keychain.items(matching: query).found.isEmpty)
        #expect(try test.keychain.delete(matching: query) == 0)
        #expect(try test.keychain.update(matching: query, to: ItemChanges([.label: "x"])) == 0)
        #expect(try test.passwords().count == 1)
    }

    @Test func aPersistentReferenceFindsItsItemInAnotherOpening() throws {
        let test = try TestKeychain()
        let item = try test.addPassword(secret: "s", [.synchronizable: 1])
        let reference = try PersistentReference(parsing: item.reference.encoded())
        #expect(try test.reopened().items(matching: Query(reference)).found == [item])
        #expect(try test.keychain.secretText(reference) == "s")
    }

    @Test func aReferenceEndsWithItsItem() throws {
        let test = try TestKeychain()
        let first = try test.addPassword()
        #expect(try test.keychain.delete(matching: Query(first.reference)) == 1)
        let second = try test.addPassword()
        #expect(second.reference != first.reference)
        #expect(try test.keychain.items(matching: Query(first.reference)).found.isEmpty)
        #expect(throws: KeychainError(.itemNotFound)) { try test.keychain.secretText(first.reference) }
    }

    @Test func aTokensReferenceIsNotFoundInAFile() throws {
        let test = try TestKeychain()
        try test.addPassword()
        let reference = PersistentReference(.genericPassword, .token(id: "piv:1", object: [1]))
        #expect(try test.keychain.items(matching: Query(reference)).found.isEmpty)
    }

    @Test func identitiesHaveNoStorageOfTheirOwn() throws {
        let test = try TestKeychain()
        #expect(try test.keychain.items(matching: Query(.identity, limit: .all)).found.isEmpty)
        #expect(throws: KeychainError(.param)) { try test.keychain.delete(matching: Query(.identity)) }
    }

    @Test func aPasswordWithoutASecretIsAnItemAndDifferentFromAnEmptyOne() throws {
        let test = try TestKeychain()
        let none = try test.addPassword("none", secret: nil)
        let empty = try test.addPassword("empty", secret: "")
        #expect(try test.secretText(none) == nil)
        #expect(try test.secretText(empty) == "")
    }

    @Test(arguments: [1, 4096, Limits.secret])
    func secretsOfAnySizeUpToTheLimitComeBack(count: Int) throws {
        let test = try TestKeychain()
        let secret = String(repeating: "x", count: count)
        #expect(try test.secretText(test.addPassword(secret: secret)) == secret)
    }

    @Test func whatIsTooLargeIsRefusedByName() throws {
        let test = try TestKeychain()
        #expect(throws: KeychainError(.dataTooLarge)) {
            try test.addPassword(secret: String(repeating: "x", count: Limits.secret + 1))
        }
        let error = try #require(throws: KeychainError.self) {
            try test.addPassword("a", [.comment: .string(String(repeating: "x", count: Limits.attribute + 1))])
        }
        #expect(error.code == .dataTooLarge && error.key == "icmt")
        #expect(try test.passwords().isEmpty)
    }

    @Test(
        arguments: [
            ([.tokenID: "piv:1"], ErrSec.readOnly, "tkid"),
            ([.accessGroup: "com.apple.token"], .missingEntitlement, "agrp"),
            ([.accessible: "xx"], .param, "pdmn"), ([.synchronizable: "syna"], .param, "sync"),
            ([.keyClass: 1], .noSuchAttribute, "kcls"), ([Attribute(rawValue: "accc"): "x"], .param, "accc"),
        ] as [(Attributes, ErrSec, String)])
    func attributesNoFileCanHoldAreRefusedByName(attributes: Attributes, code: ErrSec, key: String) throws {
        let test = try TestKeychain()
        let error = try #require(throws: KeychainError.self) { try test.addPassword("a", attributes) }
        #expect(error.code == code)
        #expect(error.key == key)
        #expect(try test.passwords().isEmpty)
    }

    @Test func manyThreadsUseOneKeychain() async throws {
        let test = try TestKeychain()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<25 {
                        let item = try test.addPassword("\(task)-\(number)", secret: "\(task * number)")
                        guard try test.secretText(item) == "\(task * number)" else { throw KeychainError(.internal) }
                        if number.isMultiple(of: 5) {
                            guard try test.keychain.delete(matching: Query(item.reference)) == 1 else {
                                throw KeychainError(.internal)
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try test.passwords().count == 8 * 20)
    }
}
