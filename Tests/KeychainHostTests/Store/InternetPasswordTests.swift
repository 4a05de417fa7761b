import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct InternetPasswordTests {
    private let test: TestKeychain

    init() throws { test = try TestKeychain() }

    @discardableResult
    private func add(_ attributes: Attributes, secret: String = "s") throws -> Item {
        try test.keychain.add(.internetPassword(attributes, secret: .of(secret)))
    }

    private func find(_ attributes: Attributes = [:]) throws -> [Item] {
        try test.keychain.items(matching: Query(.internetPassword, attributes, limit: .all)).found
    }

    @Test func itIsFoundByEachOfItsAttributes() throws {
        let attributes: Attributes = [
            .account: "anna", .securityDomain: "realm", .server: "example.org", .protocol: "htps",
            .authenticationType: "form", .port: 443, .path: "/login", .label: "Example",
        ]
        let item = try add(attributes, secret: "pass")
        for (attribute, value) in attributes { #expect(try find([attribute: value]) == [item], "\(attribute)") }
        #expect(try find(attributes) == [item])
        #expect(try find([.port: 80]).isEmpty)
        #expect(try test.keychain.secretText(item.reference) == "pass")
    }

    @Test func aServerGivenAsDataComesBackAsData() throws {
        try add([.server: .data(Array("example.org".utf8))])
        #expect(try find([.server: "example.org"]).map { $0[.server] } == [.data(Array("example.org".utf8))])
    }

    @Test func theProtocolIsOneCodeHoweverItIsWritten() throws {
        try add([.protocol: .number(0x6874_7073)])
        #expect(try find([.protocol: "htps"]).count == 1)
        #expect(throws: KeychainError(.duplicateItem)) { try add([.protocol: "htps"]) }
    }

    // Case 25
    @Test func aRenamedServerIsFoundByItsNewNameAlone() throws {
        let item = try add([.server: "a"])
        let old = try Query(.internetPassword, [.server: "a"])
        #expect(try test.keychain.update(matching: old, to: ItemChanges([.server: "b"])) == 1)
        #expect(try test.keychain.update(matching: old, to: ItemChanges([.server: "b"])) == 0)
        #expect(try test.keychain.delete(matching: old) == 0)
        #expect(try find([.server: "b"]).map(\.reference) == [item.reference])
    }

    @Test func itsSecretCanBeChanged() throws {
        let item = try add([.server: "a"], secret: "old")
        try test.keychain.update(matching: Query(item.reference), to: ItemChanges(secret: .of("new, and longer")))
        #expect(try test.keychain.secretText(item.reference) == "new, and longer")
    }

    @Test func itsReferenceSurvivesBeingWrittenDown() throws {
        let item = try add([.server: "a"])
        let reference = try PersistentReference(parsing: item.reference.encoded())
        #expect(try test.keychain.items(matching: Query(reference)).found == [item])
    }

    @Test func itIsNoGenericPassword() throws {
        try add([.account: "anna"])
        #expect(try test.passwords().isEmpty)
        #expect(throws: KeychainError(.noSuchAttribute)) { try find([.service: "mail"]) }
        #expect(throws: KeychainError(.noSuchAttribute)) { try test.passwords([.server: "mail"]) }
    }
}
