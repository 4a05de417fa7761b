import Glibc
import SecureBytes
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A secret opens only in the unaltered row in which it was sealed; an altered row does not affect the others.
@Suite struct AlterationTests {
    private let test: TestKeychain
    private let target: Item
    private let neighbour: Item

    init() throws {
        test = try TestKeychain(clock: { 1000 })
        target = try test.addPassword("target", secret: "target's", [.label: "L", .comment: "c", .creator: 5])
        neighbour = try test.addPassword("neighbour", secret: "neighbour's")
    }

    /// Damage by a disk, which leaves the row's checksum wrong. The other tests alter rows with ``TestKeychain/forge(_:_:)``.
    @Test(arguments: [
        "labl = 'l'", "icmt = NULL", "crtr = 6", "mdat = 1001", "der = x''", "alis = ''", "row_check = NULL",
    ])
    func aColumnThatChangedByItselfIsDamage(assignment: String) throws {
        try test.database().execute("UPDATE genp SET \(assignment) WHERE acct = 'target'")
        let found = try test.keychain.items(matching: Query(.genericPassword, limit: .all))
        #expect(found.found == [neighbour])
        #expect(found.missing.map(\.error) == [KeychainError(.decode)])
        #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
    }

    private func expectAltered() throws {
        let found = try test.passwords()
        #expect(found.count == 2, "an altered item is still listed")
        for item in found where item.reference != neighbour.reference {
            let error = try #require(throws: KeychainError.self) { try test.secretText(item) }
            #expect(error.code == .decode)
            #expect(error.reason.contains("altered"))
        }
        #expect(try test.secretText(neighbour) == "neighbour's")
    }

    @Test(arguments: [
        "acct = 'mallory'", "acct = CAST('target' AS BLOB)", "svce = 'bank'", "labl = 'l'", "labl = NULL",
        "icmt = 'c '",
        "crtr = 6", "crtr = NULL", "agrp = 'other'", "pdmn = 'dk'", "cdat = 999", "mdat = 1001", "invi = 0",
        "\"desc\" = 'added'", "gena = x'00'", "der = x''", "alis = ''", "uuid = randomblob(16)",
        "sealed = zeroblob(40)", "sealed = x''", "sealed = substr(sealed, 1, 27)",
        "sealed = CAST(substr(sealed, 1, length(sealed) - 1) AS BLOB)", "sealed = CAST(sealed || x'00' AS BLOB)",
    ])
    func aChangedColumnKeepsTheSecretShut(assignment: String) throws {
        try test.forge("UPDATE genp SET \(assignment) WHERE acct = 'target'")
        try expectAltered()
    }

    @Test func synchronizableIsPartOfTheItem() throws {
        try test.forge("UPDATE genp SET sync = 1 WHERE acct = 'target'")
        let item = try #require(try test.passwords([.synchronizable: 1]).first)
        #expect(throws: KeychainError(.decode)) { try test.secretText(item) }
    }

    @Test func everyByteOfASealedSecretCounts() throws {
        let sealed = try test.database().value("SELECT sealed FROM genp WHERE acct = 'target'").blob ?? []
        #expect(sealed.count == 28 + "target's".utf8.count)
        for index in sealed.indices {
            for bit in [0, 7] as [UInt8] {
                var changed = sealed
                changed[index] ^= 1 << bit
                try test.forge("UPDATE genp SET sealed = ? WHERE acct = 'target'", [.blob(changed)])
                #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
            }
        }
        try test.forge("UPDATE genp SET sealed = ? WHERE acct = 'target'", [.blob(sealed)])
        #expect(try test.secretText(target) == "target's")
    }

    @Test func anAlteredItemIsNoReasonToLeaveAnotherOut() throws {
        try test.database().execute("UPDATE genp SET labl = 'l' WHERE acct = 'target'")
        let steps = try ["new", "target"].map { account in
            KeychainStep.addIfAbsent(
                try .genericPassword([.account: .string(account), .service: "mail"], secret: .of("s3cret")))
        }
        #expect(throws: KeychainError(.decode)) { try test.keychain.carryOut(steps) { $0.count } }
        #expect(try test.keychain.items(matching: Query(.genericPassword, limit: .all)).found == [neighbour])
    }

    @Test func secretsCannotBeSwappedBetweenItems() throws {
        try test.forge(
            """
            CREATE TEMP TABLE s AS SELECT acct, sealed FROM genp;
            UPDATE genp SET sealed = (SELECT s.sealed FROM s WHERE s.acct <> genp.acct);
            """)
        for item in try test.passwords() {
            #expect(throws: KeychainError(.decode)) { try test.secretText(item) }
        }
    }

    @Test func wholeRowsCannotTradeTheirIds() throws {
        let (one, two) = (target.reference.localID?.bytes ?? [], neighbour.reference.localID?.bytes ?? [])
        try test.forge("UPDATE genp SET uuid = x'00' WHERE uuid = ?", [.blob(one)])
        try test.forge("UPDATE genp SET uuid = ? WHERE uuid = ?", [.blob(one), .blob(two)])
        try test.forge("UPDATE genp SET uuid = ? WHERE uuid = x'00'", [.blob(two)])
        for item in try test.passwords() {
            #expect(throws: KeychainError(.decode)) { try test.secretText(item) }
        }
    }

    @Test func aRowMovedToAnotherKeychainStaysShut() throws {
        let other = try TestKeychain()
        try other.database().execute(
            """
            ATTACH '\(test.path)' AS source;
            INSERT INTO main.genp SELECT * FROM source.genp;
            """)
        let moved = try other.passwords()
        #expect(moved.count == 2)
        for item in moved { #expect(throws: KeychainError(.decode)) { try other.secretText(item) } }
    }

    @Test func evenUnderTheSameKeyAnotherKeychainsRowStaysShut() throws {
        let key = Secret.of(String(repeating: "k", count: 32))
        var row = ItemRow(id: UniqueID(), itemClass: .genericPassword, attributes: [:], der: nil, sealed: nil)
        let here = UniqueID()
        try row.seal(.of("s"), key: key, keychain: here)
        let opened = try row.open(key: key, keychain: here)?.copiedBytes
        #expect(opened == Array("s".utf8))
        #expect(throws: KeychainError(.decode)) { _ = try row.open(key: key, keychain: UniqueID()) }
    }

    @Test func aPasswordsSecretIsNoKeys() throws {
        let key = Secret.of(String(repeating: "k", count: 32))
        let keychain = UniqueID()
        var row = ItemRow(id: UniqueID(), itemClass: .genericPassword, attributes: [.label: "x"], der: nil, sealed: nil)
        try row.seal(.of("s"), key: key, keychain: keychain)
        let moved = ItemRow(id: row.id, itemClass: .key, attributes: row.attributes, der: nil, sealed: row.sealed)
        #expect(throws: KeychainError(.decode)) { _ = try moved.open(key: key, keychain: keychain) }
    }

    @Test func aPasswordWhoseSecretWasTakenAwayIsNoneThatHadNone() throws {
        let bare = try test.addPassword("bare", secret: nil)
        let empty = try test.addPassword("empty", secret: "")
        #expect(try test.secretText(bare) == nil)
        #expect(try test.secretText(empty) == "")
        for other in ["bare", "empty"] {
            try test.forge(
                "UPDATE genp SET sealed = (SELECT sealed FROM genp WHERE acct = '\(other)') WHERE acct = 'target'")
            #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
        }
        try test.forge("UPDATE genp SET sealed = NULL WHERE acct = 'target'")
        #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
        let found = try test.keychain.items(matching: Query(.genericPassword, limit: .all))
        #expect(found.found.count == 3)
        #expect(found.missing.map(\.error.code) == [.decode])
    }

    @Test func aPrivateKeyWithoutItsSecretWasAltered() throws {
        let key = try test.keychain.add(NewItem(.key, [.keyClass: 1], der: [0x30, 0], secret: .of("pkcs8")))
        try test.forge("UPDATE keys SET sealed = NULL")
        #expect(throws: KeychainError(.decode)) { try test.keychain.secretText(key.reference) }
    }

    @Test func thePublicPartOfAKeyIsBoundToo() throws {
        let key = try test.keychain.add(NewItem(.key, [.keyClass: 1], der: [0x30, 0], secret: .of("pkcs8")))
        try test.forge("UPDATE keys SET der = x'300000'")
        #expect(throws: KeychainError(.decode)) { try test.keychain.secretText(key.reference) }
    }

    /// SQL compares the value that is in the file now, not the one that was stored.
    @Test(arguments: [Query.Limit.one, .all])
    func whatWasLookedForMayBeTheDamagedOne(limit: Query.Limit) throws {
        try test.database().execute("UPDATE genp SET icmt = 'd' WHERE acct = 'target'")
        let result = try test.keychain.items(matching: Query(.genericPassword, [.comment: "c"], limit: limit))
        #expect(result.found.isEmpty)
        #expect(result.missing.map(\.error.code) == [.decode])
        #expect(try test.keychain.items(matching: Query(.internetPassword, limit: .all)).missing.isEmpty)
        #expect(try test.keychain.items(matching: Query(.genericPassword, [.account: "neighbour"])).missing.isEmpty)
    }

    @Test func aKeyThatIsDamagedIsNotMissing() throws {
        try test.add(TestKey.named("anna").privateKey, [.label: "mine"])
        try test.database().execute("UPDATE keys SET edat = 1")
        #expect(throws: KeychainError(.decode)) { try test.keychain.keys(.label("mine")) }
    }

    @Test func aCertificateThatChangedByItselfIsNotChangedButDeleted() throws {
        let item = try test.add(TestKey.named("anna").certificate)
        try test.database().execute("UPDATE cert SET labl = 'other'")
        #expect(throws: KeychainError(.decode)) {
            try test.keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
        }
        #expect(try test.keychain.delete(matching: Query(item.reference)) == 1)
        #expect(try test.add(TestKey.named("anna").certificate)[.label] == item[.label])
    }

    @Test(arguments: [false, true])
    func anAlteredSecretIsNotSealedAnew(withNewSecret: Bool) throws {
        try test.forge("UPDATE genp SET svce = 'bank' WHERE acct = 'target'")
        let query = try Query(.genericPassword, [.account: "target"])
        let changes: Attributes = [.label: "x"]
        #expect(throws: KeychainError(.decode)) {
            try test.keychain.update(
                matching: query,
                to: withNewSecret ? ItemChanges(changes, secret: .of("anew")) : ItemChanges(changes))
        }
        #expect(try test.passwords([.label: "x"]).isEmpty)
        try expectAltered()
        #expect(try test.keychain.delete(matching: query) == 1)
    }

    @Test func anAccessControlThatWasTakenAwayIsNotForgottenWithANewSecret() throws {
        let control = try AccessControl("ak", .userPresence).encoded()
        let guarded = try test.addPassword("guarded", [.accessControl: .data(control)])
        try test.forge("UPDATE genp SET accc = NULL WHERE acct = 'guarded'")
        #expect(throws: KeychainError(.decode)) {
            try test.keychain.update(matching: Query(guarded.reference), to: ItemChanges(secret: .of("anew")))
        }
        #expect(throws: KeychainError(.decode)) { try test.secretText(guarded) }
    }

    @Test func anAccessControlThatIsNoneHidesNoOtherItem() throws {
        let damaged = try test.addPassword("damaged", service: "both")
        let sound = try test.addPassword("sound", service: "both")
        try test.forge("UPDATE genp SET accc = x'00ff' WHERE acct = 'damaged'")
        #expect(throws: KeychainError(.decode)) { try test.secretText(damaged) }
        let query = try Query(.genericPassword, [.service: "both"], limit: .all)
        #expect(try test.keychain.update(matching: query, to: ItemChanges(secret: .of("anew"))) == 1)
        #expect(try test.secretText(sound) == "anew")
    }

    @Test func aKeyWithoutItsSecretIsNotChanged() throws {
        let key = try test.add(TestKey.named("anna").privateKey)
        try test.forge("UPDATE keys SET sealed = NULL")
        #expect(throws: KeychainError(.decode)) {
            try test.keychain.update(matching: Query(key.reference), to: ItemChanges([.label: "x"]))
        }
    }

    @Test func anAlteredItemKeepsNoOtherFromBeingChanged() throws {
        try test.forge("UPDATE genp SET svce = 'bank' WHERE acct = 'target'")
        let everything = try Query(.genericPassword)
        #expect(try test.keychain.update(matching: everything, to: ItemChanges([.label: "x"])) == 1)
        #expect(try test.passwords([.label: "x"]).map { $0[.account] } == ["neighbour"])
        #expect(try test.keychain.update(matching: everything, to: ItemChanges(secret: .of("neighbour's"))) == 1)
        try expectAltered()
    }

    @Test func anAlteredItemUnderAnApplicationPasswordKeepsNoOtherFromBeingChanged() throws {
        let context = AuthenticationContext()
        context.setCredential(.of("app"), .applicationPassword)
        let control = try AccessControl("ak", .applicationPassword).encoded()
        for account in ["one", "two"] {
            try test.keychain.add(
                .genericPassword(
                    [.account: .string(account), .service: "app", .accessControl: .data(control)], secret: .of("old")),
                authentication: context, cost: .negligible)
        }
        try test.forge("UPDATE genp SET icmt = 'x' WHERE acct = 'one'")
        let query = try Query(.genericPassword, [.service: "app"])
        let count = try test.keychain.update(
            matching: query, to: ItemChanges(secret: .of("new")), authentication: context)
        #expect(count == 1)
    }

    // MARK: Rows beyond reading

    @Test func aRowThatCannotBeReadIsReportedAndHidesNoOther() throws {
        try test.forge("UPDATE genp SET labl = 1.5 WHERE acct = 'target'")
        let result = try test.keychain.items(matching: Query(.genericPassword, limit: .all))
        #expect(result.found == [neighbour])
        #expect(result.missing.map(\.error) == [KeychainError(.decode)])
        #expect(result.missing.first?.error.reason.contains("labl") == true)
        #expect(throws: KeychainError(.decode)) { try test.secretText(target) }
        #expect(try test.secretText(neighbour) == "neighbour's")
        let query = try Query(.genericPassword)
        #expect(try test.keychain.update(matching: query, to: ItemChanges([.label: "x"])) == 1)
        #expect(try test.keychain.delete(matching: Query(target.reference)) == 1)
    }

    @Test(arguments: ["uuid = x'01'", "labl = CAST(x'FF' AS TEXT)", "acct = 7", "invi = 2"])
    func anythingThisProgramCannotHaveWrittenIsDamage(assignment: String) throws {
        try test.forge("UPDATE genp SET \(assignment) WHERE acct = 'target'")
        let result = try test.keychain.items(matching: Query(.genericPassword, limit: .all))
        #expect(result.found == [neighbour])
        #expect(result.missing.count == 1)
    }

    // MARK: The keychain's own row

    @Test(arguments: [
        "uuid = randomblob(16)", "salt = randomblob(32)", "scrypt_n = 4", "scrypt_r = 2", "scrypt_p = 2",
        "wrapped_key = randomblob(60)", "wrapped_key = x''", "salt = x''",
    ])
    func anAlteredKeyRowOpensWithNoPassword(assignment: String) throws {
        try test.forge("UPDATE keychain SET \(assignment)")
        let other = try test.reopened()
        #expect(throws: KeychainError(.authFailed)) { try other.unlock(password: .of("correct")) }
        #expect(other.isLocked)
    }

    @Test(arguments: ["salt = randomblob(32)", "scrypt_n = 4", "wrapped_key = randomblob(60)"])
    func aDamagedKeyRowIsNoWrongPassword(assignment: String) throws {
        try test.database().execute("UPDATE keychain SET \(assignment)")
        let other = try test.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try other.unlock(password: .of("correct")) }
    }

    @Test(arguments: [
        "UPDATE settings SET lock_on_sleep = 2", "UPDATE settings SET lock_interval = 86400",
        "UPDATE settings SET row_check = NULL", "DELETE FROM settings",
    ])
    func damagedSettingsAreToldAndSetAnew(sql: String) throws {
        try test.database().execute(sql)
        let other = try test.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try other.settings }
        try other.unlock(password: .of("correct"))
        #expect(try other.items(matching: Query(.genericPassword, limit: .all)).found == [target, neighbour])
        try other.change(KeychainSettings(locksOnSleep: true))
        #expect(try test.reopened().settings == KeychainSettings(locksOnSleep: true))
    }

    @Test func damagedSettingsAreNotMadeGoodByANewPassword() throws {
        try test.database().execute("UPDATE settings SET lock_interval = 99999")
        try test.keychain.changePassword(from: .of("correct"), to: .of("other"), cost: .negligible)
        #expect(throws: KeychainError(.invalidKeychain)) { try test.reopened().settings }
    }

    /// The settings have a page of their own.
    @Test func settingsOnADamagedPageLeaveTheKeychainToBeUsed() throws {
        let path = test.folder.path("copy")
        _ = try test.keychain.backUp(to: path)
        let page = try #require(
            try Database(path: path, access: .readWrite, busyTimeout: 1000)
                .value("SELECT rootpage FROM sqlite_schema WHERE name = 'settings'").integer)
        let file = open(path, O_WRONLY)
        #expect(pwrite(file, [UInt8](repeating: 0xFF, count: 64), 64, off_t((page - 1) * 4096)) == 64)
        close(file)
        let other = try LocalKeychain.open(path)
        #expect(throws: KeychainError(.invalidKeychain)) { try other.settings }
        try other.unlock(password: .of("correct"))
        #expect(try other.secretText(target.reference) == "target's")
    }

    @Test func aNewPasswordMakesADamagedKeyRowGoodOnceTheOldOneHasOpenedIt() throws {
        try test.database().execute("UPDATE keychain SET row_check = 0")
        try test.reopened().changePassword(from: .of("correct"), to: .of("other"), cost: .negligible)
        #expect(throws: KeychainError(.authFailed)) { try test.reopened().unlock(password: .of("correct")) }
        try test.reopened().unlock(password: .of("other"))
    }

    /// The mark that tells a restored keychain from its original is part of no seal.
    @Test func aNewPasswordDoesNotMakeADamagedIdentityGood() throws {
        try test.forge("UPDATE keychain SET identity = randomblob(16)")
        #expect(try test.reopened().damage == nil)
        try test.database().execute("UPDATE keychain SET identity = randomblob(16)")
        let damaged = try test.reopened()
        #expect(damaged.damage?.code == .invalidKeychain)
        try damaged.changePassword(from: .of("correct"), to: .of("other"), cost: .negligible)
        #expect(try test.reopened().damage?.code == .invalidKeychain)
        try damaged.rekey(from: .of("other"), to: .of("third"), cost: .negligible)
        let other = try test.reopened()
        #expect(other.damage?.code == .invalidKeychain)
        try other.unlock(password: .of("third"))
        #expect(try other.secretText(target.reference) == "target's")
    }

    @Test func aDamagedKeyRowIsNotMadeGoodByNewSettings() throws {
        try test.database().execute("UPDATE keychain SET salt = randomblob(32)")
        try test.keychain.change(KeychainSettings(locksOnSleep: true))
        let other = try test.reopened()
        #expect(try other.settings == KeychainSettings(locksOnSleep: true))
        #expect(throws: KeychainError(.invalidKeychain)) { try other.unlock(password: .of("correct")) }
    }

    @Test(arguments: ["scrypt_n = 1 << 60", "scrypt_n = 3", "scrypt_p = 1 << 31", "scrypt_r = 0", "scrypt_n = 0"])
    func costsNoKeychainIsMadeWithAreNotTried(assignment: String) throws {
        try test.forge("UPDATE keychain SET \(assignment)")
        let other = try test.reopened()
        #expect(throws: KeychainError(.invalidKeychain)) { try other.unlock(password: .of("correct")) }
    }

    @Test(arguments: [
        "DELETE FROM keychain", "UPDATE keychain SET uuid = x'01'", "UPDATE keychain SET scrypt_n = -2",
        "UPDATE keychain SET scrypt_p = 1 << 40", "DROP TABLE keychain",
    ])
    func aKeychainWithoutItsKeyRowIsRefused(sql: String) throws {
        try test.database().execute(sql)
        #expect(throws: KeychainError.self) { try test.reopened() }
    }
}
