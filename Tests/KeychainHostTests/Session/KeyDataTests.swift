import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keys by their bytes, as Apple's external representation has them. Keychain semantics 1.6 and 4.5.
@Suite struct KeyDataTests {
    private let local: TestKeychain
    private let session: KeychainSession

    init() throws {
        local = try TestKeychain()
        session = KeychainSession(searchList: SearchList(locals: [local.keychain]), defaultKeychain: local.keychain)
    }

    private func add(_ bytes: [UInt8], _ attributes: ItemDictionary) throws {
        let fixed: ItemDictionary = ["class": .string("keys"), "v_Data": .data(bytes)]
        _ = try session.add(fixed.merging(attributes) { $1 })
    }

    private func read(_ query: ItemDictionary) throws -> ItemValue? {
        try session.copyMatching(query.merging(["class": .string("keys"), "r_Data": .bool(true)]) { $1 }).found
    }

    @Test(arguments: [(KeyKind.rsa(bits: 2048), "42"), (.ecP256, "73"), (.ecP521, "73"), (.ed25519, "105")])
    func bothHalvesComeBackAsTheyWent(kind: KeyKind, type: String) throws {
        let key = try PrivateKey.generate(kind)
        let secret = try key.externalRepresentation().copiedBytes
        try add(secret, ["kcls": .string("1"), "type": .string(type), "atag": .string("private")])
        try add(
            key.publicKey.rawRepresentation, ["kcls": .string("0"), "type": .string(type), "atag": .string("public")])
        #expect(try read(["atag": .string("private")])?.bytes == secret)
        #expect(try read(["atag": .string("public")])?.bytes == key.publicKey.rawRepresentation)
        let found = try local.keychain.items(
            matching: Query.keys.where(.applicationLabel, key.publicKey.keyHash).checked()
        ).found
        #expect(found.count == 2, "both are found by the hash of the public half")
    }

    @Test func bytesThatAreNoKeyOfTheTypeAreRefused() throws {
        for (keyClass, type) in [("1", "42"), ("0", "42"), ("1", "73"), ("0", "73")] {
            expect(.decode) { try add([1, 2, 3], ["kcls": .string(keyClass), "type": .string(type)]) }
        }
        expect(.param, key: "v_Data") { _ = try session.add(["class": .string("keys"), "atag": .string("t")]) }
        #expect(try local.count(.key) == 0)
    }

    @Test func aProgramsOwnKeyIsKeptAsItIs() throws {
        let bytes = [UInt8](repeating: 7, count: 64)
        try add(bytes, ["atag": .string("com.example.database"), "bsiz": .number(512)])
        #expect(try read(["atag": .string("com.example.database")])?.bytes == bytes)
    }

    @Test func aSensitiveKeyLeavesOnlyEncrypted() throws {
        try local.keychain.add(
            .privateKey(TestKey.named("anna").privateKey, [.isSensitive: true, .applicationTag: "s"]))
        expect(.keyIsSensitive) { try read(["atag": .string("s")]) }
        let both = try read(["atag": .string("s"), "r_Attributes": .bool(true)])?.dictionary
        #expect(both?["atag"]?.text == "s")
        #expect(both?["v_Data"] == nil)
    }

    // Case 75, for copying the data
    @Test func aKeyThatIsNotExtractableStays() throws {
        try local.keychain.add(
            .privateKey(TestKey.named("anna").privateKey, [.isExtractable: false, .applicationTag: "n"]))
        let error = #expect(throws: KeychainError(.dataNotAvailable)) { try read(["atag": .string("n")]) }
        // The key has no label that the error could name.
        #expect(try #require(error).reason == "the key cannot be read out")
        let both = try read(["atag": .string("n"), "r_Attributes": .bool(true)])?.dictionary
        #expect(both?["v_Data"] == nil)
    }

    @Test func accessControlAndAccessibilityHaveToAgree() throws {
        let control = try AccessControl("aku", .userPresence).encoded()
        let item: ItemDictionary = ["class": .string("genp"), "acct": .string("a"), "v_Data": .data([1])]
        let guarded = item.merging(["accc": .data(control)]) { $1 }
        expect(.param, key: "pdmn") { _ = try session.add(guarded.merging(["pdmn": .string("ak")]) { $1 }) }
        _ = try session.add(guarded)
        let query: ItemDictionary = ["class": .string("genp"), "accc": .data(control), "r_Attributes": .bool(true)]
        #expect(try session.copyMatching(query).found?.dictionary?["pdmn"]?.text == "aku")
        expect(.interactionNotAllowed) {
            _ = try session.copyMatching(["class": .string("genp"), "r_Data": .bool(true)])
        }
        try session.update(["class": .string("genp")], to: ["accc": .data(control)])
        let other = try AccessControl("aku", .devicePasscode).encoded()
        expect(.param, key: "accc") { try session.update(["class": .string("genp")], to: ["accc": .data(other)]) }
    }
}
