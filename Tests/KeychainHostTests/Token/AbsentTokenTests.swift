import Foundation
import ItemDictionaries
import PIVDriver
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import VirtualCard

/// A card that was read before and is in no reader now is absent, and its items can still be found. Keychain semantics 7.4.
@Suite struct AbsentTokenTests {
    private let folder: TemporaryFolder
    private let driver: PIVDriver

    init() throws {
        folder = try TemporaryFolder()
        driver = PIVDriver(
            certificates: FileTokenMemory(
                directory: folder.path("cache/certificates"), limit: FileTokenMemory.certificateLimit,
                keyFile: folder.path("data/cache.key")))
    }

    private func token(_ reader: VirtualReader) -> TokenKeychain {
        TokenKeychain(TokenSlot(reader: reader, drivers: [driver]))
    }

    /// The reader of a card that was listed once, and the certificates of the listing.
    private func listed(_ card: TestCard = TestCard(profile: .yubiKey57)) throws -> (VirtualReader, [Item]) {
        let reader = VirtualReader(name: "Desk Reader", card: try card.make())
        return (reader, try token(reader).items(matching: Query(.certificate, limit: .all)).found)
    }

    private func absent(_ present: [TokenKeychain] = []) -> [AbsentTokenKeychain] {
        AbsentTokenKeychain.all(of: driver.knownTokens(), besides: present)
    }

    @Test func aCardThatIsInIsNotAbsent() throws {
        let (reader, items) = try listed()
        #expect(items.count >= 4)
        #expect(absent([token(reader)]).isEmpty)
        reader.remove()
        let cards = absent([token(reader)])
        #expect(cards.count == 1)
        // A query that does not ask for absent cards does not find them.
        #expect(try token(reader).items(matching: Query(.certificate, limit: .all)).found.isEmpty)
        // Another card in the reader does not make it present.
        reader.insert(try TestCard(guid: "00000000000000000000000000000001", name: "another").make())
        #expect(absent([token(reader)]).map(\.identity) == cards.map(\.identity))
    }

    @Test func whoNamesAKnownCardIsToldThatItIsOut() throws {
        let (reader, items) = try listed()
        let certificate = try #require(items.first)
        let session = KeychainSession(
            searchList: SearchList(tokens: [token(reader)]), knownTokens: { [driver] in driver.knownTokens() })
        let id = ItemValue.string(certificate.keychain.rawValue)
        let queries: [ItemDictionary] = [
            ["class": .string("cert"), "tkid": id],
            ["v_PersistentRef": .data(certificate.reference.encoded())],
        ]
        for query in queries {
            _ = try session.copyMatching(query)
            reader.remove()
            let error = #expect(throws: KeychainError(.noSuchKeychain)) { try session.copyMatching(query) }
            #expect(error?.remedy == "insert it")
            #expect(throws: KeychainError(.noSuchKeychain)) { try session.delete(query) }
            reader.insert(try TestCard(profile: .yubiKey57).make())
        }
        #expect(throws: KeychainError(.itemNotFound)) {
            try session.copyMatching(["class": .string("cert"), "tkid": .string("piv:none")])
        }
    }

    @Test func aReaderThatFailsHidesNoAbsentCard() throws {
        let (reader, _) = try listed()
        reader.remove()
        let broken = VirtualReader(
            name: "Broken", card: try TestCard(guid: "00000000000000000000000000000001", name: "another").make())
        broken.isHeldExclusively = true
        let tokens = [token(broken), token(reader)]
        #expect(absent(tokens).count == 1)
        let session = KeychainSession(
            searchList: SearchList(tokens: tokens), knownTokens: { [driver] in driver.knownTokens() })
        let key = try #require(try absent().first?.items(matching: Query(.key)).found.first)
        #expect(try session.key(of: key).name == "9A")
        let found = try session.copyMatching([
            "class": .string("cert"), "u_AbsentTokens": .bool(true), "m_Limit": .string("m_LimitAll"),
            "r_Ref": .bool(true),
        ])
        #expect(found.found?.array?.count == 4)
    }

    @Test func itsCertificatesAndKeysAreThoseItHad() throws {
        let (reader, items) = try listed()
        reader.remove()
        let card = try #require(absent().first)
        let found = try card.items(matching: Query(.certificate, limit: .all)).found
        #expect(found == items.filter { $0.label != "PIV Attestation" && found.contains($0) })
        #expect(found.count == 4)
        let reference = try #require(found.first).reference.retyped(as: .key)
        for selector in [KeySelector.name("9A"), .name("9a"), .reference(reference)] {
            #expect(try card.keys(selector).map(\.name) == ["9A"], "\(selector)")
        }
        let hash = try #require(try card.items(matching: Query(.key)).found.first?.publicKeyHash)
        #expect(try card.keys(.publicKeyHash(hash)).count == 1)
        #expect(try card.keys(.name("9F")).isEmpty)
        #expect(try card.items(matching: Query(.genericPassword)).found.isEmpty)
    }

    @Test func usingItsKeySaysWhichCardToInsert() throws {
        let (reader, _) = try listed()
        reader.remove()
        let card = try #require(absent().first)
        let key = try #require(try card.keys(.name("9A")).first)
        let person = TypesInTurn("123456")
        let error = #expect(throws: KeychainError(.interactionRequired)) {
            try key.signed([1], .messageSignature(.ecdsa(.sha256)), AuthenticationContext(prompter: person))
        }
        #expect(error?.remedy == "insert card 7654321")
        #expect(error?.reason.contains(card.name) == true)
        #expect(person.requests.isEmpty)
        // Operations of the public key need no card.
        #expect(key.isSupported(.messageSignature(.ecdsa(.sha256)), for: .verify))
        #expect(try !key.verify([1], of: [1], using: .messageSignature(.ecdsa(.sha256))))
    }

    @Test func inASearchListItComesWhereItIsPut() throws {
        let (reader, items) = try listed()
        let local = try TestKeychain()
        try local.add(TestKey.named("anna").certificate)
        reader.remove()
        let tokens = [token(reader) as any Keychain] + (absent().map { $0 as any Keychain })
        let list = SearchList(tokens: tokens, locals: [local.keychain])
        let found = try list.certificates()
        #expect(found.count == 5)
        #expect(Set(found.prefix(4).map(\.keychain)) == Set(items.map(\.keychain)))
        #expect(throws: KeychainError(.readOnly)) {
            try list.delete(matching: Query(.certificate, limit: .all))
        }
        #expect(try local.count(.certificate) == 1)
    }

    // MARK: - By SecItem's dictionary

    private func session(_ reader: VirtualReader, _ local: TestKeychain) -> KeychainSession {
        KeychainSession(
            searchList: SearchList(tokens: [token(reader)], locals: [local.keychain]),
            defaultKeychain: local.keychain, knownTokens: driver.knownTokens)
    }

    private func identities(_ session: KeychainSession, _ more: ItemDictionary = [:]) throws -> [Identity] {
        let query: ItemDictionary = [
            "class": .string("idnt"), "r_Ref": .bool(true), "m_Limit": .string("m_LimitAll"),
        ]
        do throws(KeychainError) {
            return try session.copyMatching(query.merging(more) { $1 }).found?.array?.compactMap(\.identity) ?? []
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    @Test func aQueryMayAskForCardsThatAreNotIn() throws {
        let (reader, _) = try listed()
        let local = try TestKeychain()
        try local.add(TestKey.named("anna").certificate)
        try local.add(TestKey.named("anna").privateKey)
        let session = session(reader, local)
        let asked: ItemDictionary = ["u_AbsentTokens": .bool(true)]
        let present = try identities(session)
        #expect(try identities(session, asked) == present, "each card once")
        reader.remove()
        #expect(try identities(session).map(\.certificate.isOnToken) == [false])
        let found = try identities(session, asked)
        #expect(found.map(\.certificate.isOnToken) == [true, true, true, true, false])
        #expect(try identities(session, ["u_AbsentTokens": .bool(false)]).count == 1)
        #expect(try identities(session, asked.merging(["u_LocalOnly": .bool(true)]) { $1 }).count == 1)
        expect(.param, key: "u_AbsentTokens") {
            try identities(session, asked.merging(["m_SearchList": .array([])]) { $1 })
        }
    }

    @Test func theKeyOfSuchACardSaysWhichToInsert() throws {
        let (reader, _) = try listed()
        let session = session(reader, try TestKeychain())
        reader.remove()
        let identity = try #require(try identities(session, ["u_AbsentTokens": .bool(true)]).first)
        let key = try session.key(of: identity.key)
        let error = #expect(throws: KeychainError(.interactionRequired)) {
            try key.signed([1], .messageSignature(.ecdsa(.sha256)), .owner)
        }
        #expect(error?.remedy == "insert card 7654321")
        reader.insert(try TestCard(profile: .yubiKey57).make())
        #expect(throws: Never.self) {
            try session.key(of: identity.key).signed([1], .messageSignature(.ecdsa(.sha256)), .owner)
        }
        let nobody = KeychainSession(searchList: SearchList())
        #expect(throws: KeychainError(.itemNotFound)) { try nobody.key(of: identity.key) }
    }

    // Case 95
    @Test func aCardPulledWhileAllIsCopiedHidesNoOtherRow() throws {
        let (reader, _) = try listed()
        let local = try TestKeychain()
        try local.add(TestKey.named("anna").certificate)
        reader.faults.order(.remove)
        let result = try SearchList(tokens: [token(reader)], locals: [local.keychain]).items(
            matching: Query(.certificate, limit: .all))
        #expect(result.found.count == 1)
        #expect(result.missing.count <= 1)
    }

    // MARK: - The files

    private var file: String {
        get throws {
            let directory = folder.path("cache/certificates")
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            return "\(directory)/\(try #require(names.first))"
        }
    }

    @Test func aFileThatWasTamperedWithIsThrownAway() throws {
        let (_, _) = try listed()
        let path = try file
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        #expect(driver.knownTokens().count == 1)
        for index in stride(from: 0, to: bytes.count, by: 97) {
            var changed = bytes
            changed[index] ^= 1
            try Data(changed).write(to: URL(fileURLWithPath: path))
            #expect(driver.knownTokens().isEmpty)
        }
        // The next listing writes the file anew.
        _ = try listed()
        #expect(driver.knownTokens().count == 1)
    }

    @Test func aFolderUnderAnotherKeyTellsNothing() throws {
        let (_, _) = try listed()
        let key = folder.path("data/cache.key")
        #expect(try Data(contentsOf: URL(fileURLWithPath: key)).count == 32)
        let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try Data(repeating: 7, count: 32).write(to: URL(fileURLWithPath: key))
        #expect(driver.knownTokens().isEmpty)
        try FileManager.default.removeItem(atPath: key)
        #expect(driver.knownTokens().isEmpty)
        _ = try listed()
        #expect(driver.knownTokens().count == 1)
    }

    @Test func aFileUnderAnotherNameTellsNothing() throws {
        let (_, _) = try listed()
        let path = try file
        let other =
            URL(fileURLWithPath: path).deletingLastPathComponent().path + "/" + String(repeating: "0", count: 64)
        try FileManager.default.moveItem(atPath: path, toPath: other)
        #expect(driver.knownTokens().isEmpty)
    }

    @Test func aWarmListingThroughFilesCostsFewerCommands() throws {
        let card = TestCard(profile: .genericShort, algorithm: .rsa2048)
        let (cold, items) = try listed(card)
        let (warm, again) = try listed(card)
        #expect(again == items)
        #expect(warm.log.count < cold.log.count)
    }
}
