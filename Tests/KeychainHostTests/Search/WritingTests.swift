import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// Keychain semantics 4.3: nothing is written to a token, and nothing half.
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
        #expect(try local.keychain.items(matching: query).items == [item])
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
        #expect(desk.commands.allSatisfy { [0xA4, 0xCB].contains($0) })
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
        // Nobody knows whether the card has such a certificate.
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

    @Test func identitiesAreNeitherChangedNorDeleted() throws {
        let local = try TestKeychain()
        let key = try TestKey.named("anna")
        try local.add(key.privateKey)
        try local.add(key.certificate)
        let list = SearchList(locals: [local.keychain])
        #expect(throws: KeychainError(.param)) { try list.delete(matching: Query(.identity)) }
        #expect(try list.identities().count == 1)
    }
}
