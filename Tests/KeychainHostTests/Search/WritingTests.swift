import KeychainStore
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// Keychain semantics 4.3: nothing is written to a token, and a change is made as a whole or not at all.
@Suite struct WritingTests {
    @Test func aTokenRefusesEveryWriteAndIsNotTouched() throws {
        let desk = try Desk()
        let query = try Query(.certificate, limit: .all)
        let certificate = try TestKey.named("anna").certificate
        #expect(throws: KeychainError(.readOnly)) { try desk.token.add(.certificate(certificate)) }
        #expect(throws: KeychainError(.readOnly)) { try desk.token.update(matching: query, to: ItemChanges()) }
        #expect(throws: KeychainError(.readOnly)) { try desk.token.delete(matching: query) }
        #expect(desk.commands.isEmpty)
    }

    @Test func aChangeThatWouldTouchATokenIsRefusedWhole() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        let item = try local.add(try TestCard().key(.authentication).certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let hash: Attributes = [.publicKeyHash: try #require(item[.publicKeyHash])]
        let before = try desk.items(.certificate)
        let query = try Query(.certificate, hash)
        let error = #expect(throws: KeychainError(.readOnly)) {
            try list.update(matching: query, to: ItemChanges([.label: "mine"]))
        }
        #expect(error?.reason.contains("PIV Authentication") == true)
        #expect(throws: KeychainError(.readOnly)) { try list.delete(matching: query) }
        #expect(try local.keychain.items(matching: query).found == [item])
        #expect(try desk.items(.certificate) == before)
    }

    @Test func aQueryThatLeavesTokensOutIsCarriedOut() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.add(try TestCard().key(.authentication).certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let query = try Query(.certificate, [.tokenID: ""])
        #expect(try list.update(matching: query, to: ItemChanges([.label: "mine"])) == 1)
        #expect(try list.certificates([.label: "mine"]).map(\.isOnToken) == [false])
        #expect(try list.delete(matching: Query(.certificate, in: [local.keychain.identifier])) == 1)
        #expect(try list.certificates().count == 4)
        #expect(desk.commands.allSatisfy { [0xA4, 0xCB, 0xF7].contains($0) })
    }

    @Test func whatIsNowhereIsNoError() throws {
        let local = try TestKeychain()
        let list = SearchList(tokens: [try Desk().token], locals: [local.keychain])
        let query = try Query(.certificate, [.label: "nowhere"])
        #expect(try list.delete(matching: query) == 0)
        #expect(try list.update(matching: query, to: ItemChanges([.label: "x"])) == 0)
    }

    @Test func allMatchesInAllFilesAreMeant() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        for local in [first, second] {
            try local.addPassword("anna")
            try local.addPassword("ben")
        }
        let list = SearchList(locals: [first.keychain, second.keychain])
        let query = try Query(.genericPassword, [.account: "anna"])
        #expect(try list.update(matching: query, to: ItemChanges([.comment: "old"])) == 2)
        #expect(try list.delete(matching: query) == 2)
        #expect(try first.passwords().map { $0[.account] } == ["ben"])
        #expect(try second.passwords().map { $0[.account] } == ["ben"])
    }

    @Test func aPasswordIsDeletedThoughACardCannotBeRead() throws {
        let (local, desk) = (try TestKeychain(), try Desk())
        try local.addPassword()
        try local.add(try TestKey.named("anna").certificate)
        desk.reader.isHeldExclusively = true
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        #expect(try list.delete(matching: Query(.genericPassword)) == 1)
        // The card, which cannot be read, might have such a certificate.
        #expect(throws: KeychainError(.notAvailable)) { try list.delete(matching: Query(.certificate)) }
        #expect(try local.count(.certificate) == 1)
    }

    @Test func theTokensGroupAndIdCannotBeClaimed() throws {
        let local = try TestKeychain()
        #expect(throws: KeychainError(.missingEntitlement)) {
            try local.addPassword("a", [.accessGroup: .string(AccessGroup.token)])
        }
        #expect(throws: KeychainError(.readOnly)) { try local.addPassword("a", [.tokenID: "piv:1"]) }
        #expect(try local.count(.genericPassword) == 0)
    }

    @Test func anIdentitySpreadOverTwoFilesIsChangedInBothOrInNone() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        let key = try TestKey.named("anna")
        try first.add(key.privateKey)
        try second.add(key.certificate)
        let list = SearchList(locals: [first.keychain, second.keychain])
        let changes: Attributes = [.label: "x", .applicationTag: "y"]
        first.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try list.update(matching: Query(.identity), to: ItemChanges(changes))
        }
        #expect(try list.identities().map(\.certificate.label) == ["anna holder"])
        #expect(try list.update(matching: Query(.identity), to: ItemChanges([.label: "x"])) == 1)
        #expect(try first.keychain.items(matching: Query(.key)).found.map(\.label) == [nil])
        let asking = KeychainSession(
            searchList: list, authentication: AuthenticationContext(prompter: TypesInTurn("correct")))
        let results = try asking.change(
            [.update(Query(.identity), ItemChanges(changes))], authentication: asking.authentication)
        #expect(results.map(\.count) == [1])
        #expect(try list.identities([.label: "x", .applicationTag: "y"]).count == 1)
    }

    @Test func ofAnIdentityWithItsKeyOnACardTheCertificateIsChanged() throws {
        let (local, desk) = (
            try TestKeychain(), try Desk(TestCard(profile: .yubiKey57, withoutCertificate: [.authentication]))
        )
        try local.add(TestCard().key(.authentication).certificate)
        let list = SearchList(tokens: [desk.token], locals: [local.keychain])
        let query = try Query(.identity, [.tokenID: ""])
        #expect(try list.update(matching: query, to: ItemChanges([.label: "x"])) == 1)
        #expect(try local.count(.certificate) == 1)
        #expect(try list.identities([.label: "x"]).map(\.key.isOnToken) == [true])
        #expect(throws: KeychainError(.readOnly)) {
            try list.update(matching: query, to: ItemChanges([.label: "z", .applicationTag: "y"]))
        }
        #expect(try list.identities([.label: "x"]).count == 1)
    }

    @Test func anIdentitySpreadOverTwoFilesIsDeletedFromBoth() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        let key = try TestKey.named("anna")
        try first.add(key.privateKey)
        try second.add(key.certificate)
        let list = SearchList(locals: [first.keychain, second.keychain])
        #expect(try list.delete(matching: Query(.identity)) == 1)
        #expect(try first.count(.key) == 0)
        #expect(try second.count(.certificate) == 0)
    }

    @Test func aKeyStaysThatACertificateOfAnotherFileNeeds() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        let key = try TestKey.named("anna")
        try first.add(key.privateKey)
        try first.add(key.certificate)
        try second.add(TestKey.certificate(of: key.privateKey.publicKey, "anna at work"))
        let (list, all) = (
            SearchList(locals: [first.keychain]), SearchList(locals: [first.keychain, second.keychain])
        )
        #expect(try list.delete(matching: Query(.identity), sharedWith: all) == 1)
        #expect(try first.count(.key) == 1)
        #expect(try first.count(.certificate) == 0)
    }

    @Test(arguments: [false, true])
    func nothingIsDeletedWhereADamagedCertificateMayNeedTheKey(byReference: Bool) throws {
        let test = try TestKeychain()
        let key = try TestKey.named("anna")
        try test.add(key.privateKey)
        let certificate = try test.add(key.certificate)
        try test.add(TestKey.certificate(of: key.privateKey.publicKey, "anna at work"))
        try test.database().execute("UPDATE cert SET alis = 'x' WHERE labl = 'anna at work'")
        let query =
            try byReference ? Query(certificate.reference.retyped(as: .identity)) : Query(.identity, limit: .all)
        #expect(throws: KeychainError(.decode)) {
            try SearchList(locals: [test.keychain]).delete(matching: query)
        }
        #expect(try test.count(.key) == 1)
        #expect(try test.count(.certificate) == 1)
    }

    @Test func aFailureInOneFileLeavesTheOthersAsTheyWere() throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        try first.addPassword("a", service: "old")
        try second.addPassword("a", service: "old")
        try second.addPassword("a", service: "new")
        for list in [
            SearchList(locals: [first.keychain, second.keychain]),
            SearchList(locals: [second.keychain, first.keychain]),
        ] {
            #expect(throws: KeychainError(.duplicateItem)) {
                try list.update(
                    matching: Query(.genericPassword, [.service: "old"]), to: ItemChanges([.service: "new"]))
            }
            #expect(try first.passwords().map { $0[.service] } == ["old"])
            #expect(try second.passwords().map { $0[.service] } == ["old", "new"])
        }
        second.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try SearchList(locals: [first.keychain, second.keychain]).update(
                matching: Query(.genericPassword, [.service: "old"]), to: ItemChanges([.label: "x"]))
        }
        #expect(try first.passwords([.label: "x"]).isEmpty)
    }

    @Test func aKeychainThatIsListedTwiceIsWrittenOnce() throws {
        let local = try TestKeychain()
        try local.addPassword("a")
        let list = SearchList(locals: [local.keychain, local.keychain])
        #expect(try list.update(matching: Query(.genericPassword), to: ItemChanges([.label: "x"])) == 1)
        #expect(try list.delete(matching: Query(.genericPassword)) == 1)
    }

    @Test func clientsThatNameKeychainsInAnotherOrderDoNotBlockEachOther() async throws {
        let (first, second) = (try TestKeychain(), try TestKeychain())
        for local in [first, second] { try local.addPassword("a") }
        let orders = [[first.keychain, second.keychain], [second.keychain, first.keychain]]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for order in orders {
                group.addTask {
                    for number in 0..<50 {
                        let changes = ItemChanges([.label: .string("\(number)")])
                        let count = try SearchList(locals: order).update(matching: Query(.genericPassword), to: changes)
                        #expect(count == 2)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try first.passwords([.label: "49"]).count == 1)
        #expect(try second.passwords([.label: "49"]).count == 1)
    }
}
