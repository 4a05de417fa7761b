import ItemDictionaries
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

@Suite struct SearchListTests {
    @Test func tokensComeFirstWhateverOrderTheyWereFilledIn() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(TestKey.named("anna").certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let found = try list.certificates()
        #expect(found.map(\.isOnToken) == [true, true, true, true, false])
        #expect(
            found.map(\.label).dropLast() == [
                "PIV Authentication", "Digital Signature", "Key Management", "Card Authentication",
            ])
        #expect(try list.certificates() == found)
    }

    @Test func theOrderOfTheMembersIsThatOfTheList() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        for (number, local) in [second, first].enumerated() { try local.addPassword("account \(number)") }
        let list = SearchList(locals: [first.keychain, second.keychain])
        let found = try list.items(matching: Query(.genericPassword, limit: .all)).found
        #expect(found.map { $0[.account] } == ["account 1", "account 0"])
    }

    @Test func oneCertificateOnACardAndInAFileIsTwoItems() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let certificate = try TestCard().key(.authentication).certificate
        try local.add(certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let found = try list.certificates([.serialNumber: .data(certificate.serialNumber)])
        #expect(found.map(\.der) == [certificate.der, certificate.der])
        #expect(found.map { $0[.tokenID]?.string } == ["piv:7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c", nil])
        #expect(Set(found.map(\.reference)).count == 2)
        #expect(try list.certificates([.tokenID: ""]).map(\.isOnToken) == [false])
        #expect(try list.certificates([.tokenID: try #require(found[0][.tokenID])]).count == 4)
        #expect(try list.certificates([.tokenID: "piv:another"]).isEmpty)
    }

    @Test(arguments: [(Query.Limit.one, 1), (.atMost(3), 3), (.atMost(5), 5), (.atMost(9), 6), (.all, 6)])
    func theLimitCountsAcrossMembers(limit: Query.Limit, count: Int) throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(TestKey.named("anna").certificate)
        try local.add(TestKey.named("ben").certificate)
        #expect(
            try SearchList(tokens: [desk.token], locals: [local.keychain]).certificates(limit: limit).count == count)
    }

    @Test func whatIsDistinctIsSoByItsBytes() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        try first.addPassword("caf\u{E9}")
        try second.addPassword("cafe\u{301}")
        try second.addPassword("caf\u{E9}")
        let session = KeychainSession(searchList: SearchList(locals: [first.keychain, second.keychain]))
        let found = try session.copyMatching([
            "class": .string("genp"), "u_Distinct": .bool(true), "m_Limit": .string("m_LimitAll"), "r_Ref": .bool(true),
        ]).found?.array
        #expect(found?.map { $0.item?.keychain } == [first.keychain.identifier, second.keychain.identifier])
        #expect(found?.last?.item?[.account]?.bytes == Array("cafe\u{301}".utf8))
    }

    @Test func theLimitCountsWhatPassedTheFilters() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        for name in ["anna", "ben", "cleo"] { try local.add(TestKey.named(name).certificate) }
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let query = try Query(.certificate, filters: [.subject(SubjectMatch(.startsWith, "cleo"))], limit: .one)
        #expect(try list.items(matching: query).found.map(\.commonName) == ["cleo holder"])
    }

    @Test func aFailingMemberIsReportedAndHidesNothing() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(TestKey.named("anna").certificate)
        let list = SearchList(
            tokens: [AlwaysFails(), desk.token], locals: [local.keychain, AlwaysFails(name: "file")])
        let result = try list.items(matching: Query(.certificate, limit: .all))
        #expect(result.found.count == 5)
        #expect(result.missing.map(\.keychain) == ["broken", "file"])
        #expect(result.missing.map(\.error.code) == [.deviceFailed, .deviceFailed])
        let identities = try list.identities(matching: Query(.identity, limit: .all))
        #expect(identities.found.count == 4)
        #expect(identities.missing.map(\.keychain) == ["broken", "file"])
        #expect(try list.keys(.name("9A")).missing.count == 2)
    }

    @Test func whereAllFailTheFirstErrorIsThrown() throws {
        let list = SearchList(tokens: [AlwaysFails(code: .deviceFailed)], locals: [AlwaysFails(code: .invalidKeychain)])
        #expect(throws: KeychainError(.deviceFailed)) { try list.certificates() }
        #expect(throws: KeychainError(.deviceFailed)) { try list.identities() }
        #expect(throws: KeychainError(.deviceFailed)) { _ = try list.keys(.name("9A")) }
    }

    @Test func anEmptyListAndAnEmptyReaderFindNothing() throws {
        #expect(try SearchList().certificates().isEmpty)
        let empty = Desk(VirtualReader())
        let result = try SearchList(tokens: [empty.token]).items(matching: Query(.certificate, limit: .all))
        #expect(result.found.isEmpty)
        #expect(result.missing.isEmpty)
    }

    @Test func aCardTakenOutWhileItIsReadIsReported() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(TestKey.named("anna").certificate)
        desk.reader.faults.order(.remove, at: 3)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let result = try list.items(matching: Query(.certificate, limit: .all))
        #expect(result.found.map(\.isOnToken) == [false])
        #expect(result.missing.map(\.error.code) == [.deviceReset])
        #expect(result.missing.map(\.kind) == [.unreadableKeychain] && result.missing.map(\.place) == [.card])
        // Once the card is known to be gone, there is nothing to report.
        #expect(try list.items(matching: Query(.certificate, limit: .all)).missing.isEmpty)
    }

    @Test func aCardThatAnotherProgramHoldsIsReported() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        desk.reader.isHeldExclusively = true
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let failures = try list.items(matching: Query(.certificate, limit: .all)).missing
        #expect(failures.map(\.error.code) == [.notAvailable])
        #expect(failures.map(\.kind) == [.heldCard] && failures.map(\.place) == [.card])
        #expect(failures.map(\.keychain) == ["Desk Reader"])
    }

    @Test func anObjectThatCannotBeReadIsReportedAndHidesNoOther() throws {
        let desk = try Desk(TestCard(certificates: [.signature: [0x30, 0x03, 0x02, 0x01, 0x00]]))
        let result = try SearchList(tokens: [desk.token]).items(matching: Query(.certificate, limit: .all))
        #expect(result.found.map(\.label) == ["PIV Authentication", "Key Management", "Card Authentication"])
        #expect(result.missing.count == 1)
        #expect(result.missing.first?.error.reason.contains("9C") == true)
    }

    @Test func whatAQueryExcludesIsNotTouched() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let certificate = try local.add(TestKey.named("anna").certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let queries = [
            try Query(.certificate, in: [local.keychain.identifier], limit: .all),
            try Query(.certificate, [.tokenID: ""], limit: .all),
            try Query(.certificate, [.accessGroup: "local"], limit: .all), Query(certificate.reference),
        ]
        for query in queries { #expect(try list.items(matching: query).found == [certificate]) }
        _ = try list.items(matching: Query(.genericPassword, limit: .all))
        #expect(desk.commands.isEmpty)
        let absent = try Query(.certificate, [.tokenID: "piv:another"], limit: .all)
        #expect(try list.items(matching: absent).found.isEmpty)
        // SELECT and CHUID identify the card; nothing more is read from one that is not asked for.
        #expect(desk.commands == [0xA4, 0xCB])
    }

    @Test func aReferenceReadsItsObjectAlone() throws {
        let desk = try Desk()
        let item = try #require(try desk.items(.certificate).first { $0.label == "Digital Signature" })
        let later = Desk(desk.reader)
        desk.reader.clearLog()
        #expect(try later.token.items(matching: Query(item.reference)).found == [item])
        #expect(later.commands == [0xA4, 0xCB, 0xCB])
    }

    @Test func identitiesAreNoItems() throws {
        let list = SearchList(locals: [try TestKeychain().keychain])
        #expect(throws: KeychainError(.param)) { try list.items(matching: Query(.identity, limit: .all)) }
        #expect(throws: KeychainError(.param)) { try list.identities(matching: Query(.certificate, limit: .all)) }
    }

    @Test(arguments: [("login.keychain", "login"), ("a.b.keychain", "a.b"), ("plain", "plain"), (".hidden", ".hidden")])
    func aLocalKeychainIsKnownByItsFile(file: String, name: String) throws {
        let folder = try TemporaryFolder()
        let keychain = try LocalKeychain.create(at: folder.path(file), password: .of("x"), cost: .negligible)
        #expect(keychain.name == name)
    }
}
