import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Seals protect certificates and public keys as they protect secrets. The attacker writes to the file, with correct checksums.
@Suite struct PublicSealTests {
    private let test: TestKeychain
    private let publicKey: Item
    private let privateKey: Item
    private let certificate: Item

    init() throws {
        test = try TestKeychain()
        let key = try TestKey.named("anna")
        publicKey = try test.keychain.add(.publicKey(key.privateKey.publicKey, [.label: "bob"]))
        privateKey = try test.keychain.add(.privateKey(key.privateKey, [.label: "anna"]))
        certificate = try test.keychain.add(.certificate(key.certificate))
        try test.addPassword()
    }

    private var items: [Item] { [publicKey, privateKey, certificate] }

    private func mallory() throws -> PublicKey { try TestKey.named("mallory").privateKey.publicKey }

    private func found(_ item: Item) throws -> Outcome<[Item]> {
        try test.keychain.items(matching: Query(item.reference))
    }

    private func vouching(for item: Item) throws -> Vouching {
        try test.keychain.vouching(for: item.reference, with: item.der ?? [])
    }

    private func expectAltered(_ item: Item, _ comment: Comment? = nil) throws {
        let result = try found(item)
        #expect(result.found.isEmpty && result.missing.map(\.error) == [KeychainError(.decode)], comment)
        #expect(throws: KeychainError(.decode), comment) { try vouching(for: item) }
    }

    // MARK: Replaced keys and certificates

    /// The new key does not fit the hash by which it is found.
    @Test(arguments: [false, true]) func aReplacedPublicKeyIsNotUsed(locked: Bool) throws {
        try test.forge("UPDATE keys SET der = ?", [.blob(mallory().spki)])
        if locked { test.keychain.lock() }
        for item in [publicKey, privateKey] { try expectAltered(item) }
        #expect(throws: KeychainError(.decode)) { try test.keychain.keys(.name("anna")) }
    }

    @Test(arguments: [false, true]) func aReplacedPublicKeyWhoseHashIsGoneIsNotUsed(locked: Bool) throws {
        try test.forge("UPDATE keys SET der = ?, klbl = NULL", [.blob(mallory().spki)])
        if locked { test.keychain.lock() }
        for item in [publicKey, privateKey] { try expectAltered(item) }
    }

    @Test func aKeyThatWasReplacedWithItsHashIsNotUsedWhileUnlockedAndNotVouchedForWhileLocked() throws {
        let other = try mallory()
        try test.forge("UPDATE keys SET der = ?, klbl = ?", [.blob(other.spki), .blob(other.keyHash)])
        for item in [publicKey, privateKey] { try expectAltered(item) }
        test.keychain.lock()
        let replaced = try #require(try found(publicKey).found.first)
        #expect(try vouching(for: replaced) == .unknown)
        #expect(throws: KeychainError(.decode)) { try vouching(for: publicKey) }
    }

    @Test(arguments: [
        "der = x'3000'", "labl = 'x'", "pkhh = x'00'", "subj = NULL", "agrp = 'other'", "sealed = zeroblob(28)",
    ])
    func aCertificateThatWasChangedIsNotUsed(assignment: String) throws {
        try test.forge("UPDATE cert SET \(assignment)")
        try expectAltered(certificate)
        #expect(try found(publicKey).found == [publicKey])
    }

    @Test func sealsCannotBeSwapped() throws {
        let other = try test.keychain.add(.publicKey(mallory(), [.label: "other"]))
        try test.forge(
            """
            CREATE TEMP TABLE s AS SELECT id, sealed FROM keys;
            UPDATE keys SET sealed = (SELECT s.sealed FROM s WHERE s.id <> keys.id AND s.id <> 2) WHERE id <> 2;
            """)
        for item in [publicKey, other] { try expectAltered(item) }
    }

    @Test func aSealThatWasTakenOffVouchesForNothing() throws {
        try test.forge("UPDATE keys SET sealed = NULL WHERE kcls = 0; UPDATE cert SET sealed = NULL")
        for item in [publicKey, certificate] { #expect(try vouching(for: item) == .unsealed) }
        test.keychain.lock()
        try test.keychain.unlock(password: .of("correct"))
        for item in [publicKey, certificate] { #expect(try vouching(for: item) == .unsealed) }
    }

    // MARK: Without the key

    @Test func everythingIsReadWhileLockedAndVouchedForWhileUnlocked() throws {
        for item in items { #expect(try vouching(for: item) == .sealed) }
        test.keychain.lock()
        for item in items {
            #expect(try found(item).found == [item])
            #expect(try vouching(for: item) == .unknown)
        }
        for item in [publicKey, certificate] {
            #expect(try test.secretText(item) == nil)
            #expect(try test.keychain.sealedSecret(of: item.reference) == nil)
        }
    }

    /// Otherwise a change would be a way to get anything sealed.
    @Test func whatWasAddedWhileLockedIsVouchedForByNobodyThenAndLater() throws {
        test.keychain.lock()
        let other = try test.keychain.add(.publicKey(mallory(), [.label: "mallory"]))
        #expect(try vouching(for: other) == .unknown)
        try test.keychain.unlock(password: .of("correct"))
        #expect(try vouching(for: other) == .unsealed)
        try test.keychain.update(matching: Query(other.reference), to: ItemChanges([.label: "x"]))
        #expect(try vouching(for: other) == .unsealed)
        try test.keychain.rekey(from: .of("correct"), to: .of("new"), cost: .negligible)
        #expect(try vouching(for: other) == .unsealed)
        #expect(try vouching(for: publicKey) == .sealed)
    }

    @Test func aChangeSealsAnewAndTakesTheKey() throws {
        try test.keychain.update(matching: Query(certificate.reference), to: ItemChanges([.label: "x"]))
        #expect(try vouching(for: certificate) == .sealed)
        test.keychain.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try test.keychain.update(matching: Query(certificate.reference), to: ItemChanges([.label: "y"]))
        }
        #expect(try test.keychain.delete(matching: Query(certificate.reference)) == 1)
    }

    // MARK: Keychains of older versions

    /// Turns the file into one of an older version.
    ///
    /// - Returns: the older version's mark in the keychain's row (`key_check`).
    @discardableResult
    private func makeOld() throws -> SQLValue {
        let database = try test.database()
        let wrapped = try WrappedKey(readingFrom: database)
        let key = try wrapped.unwrap(password: .of("correct"), of: "test")
        for item in try items + test.passwords() {
            var row = try test.keychain.use { opened throws(KeychainError) in try opened.row(of: item.reference) }
            if row.holdsSecret {
                let secret = try row.open(key: key, keychain: wrapped.keychain)
                try row.seal(secret, key: key, keychain: wrapped.keychain, .first)
            } else {
                row.sealed = nil
            }
            let (sql, values) = row.itemClass.columns.update(row, in: row.id)
            try database.run(sql, values)
        }
        let mark = try SealedBox.seal(
            [UInt8]().span, key: key,
            authenticating: AssociatedData("keychain key check 1", keychain: wrapped.keychain))
        try test.forge("UPDATE keychain SET key_check = ?", [.blob(mark)])
        try test.downgrade(to: 7)
        return .blob(mark)
    }

    private func mark() throws -> SQLValue { try test.database().value("SELECT key_check FROM keychain") }

    @Test func anOlderKeychainGetsItsSealsWhenItIsUnlocked() throws {
        let old = try makeOld()
        let reopened = try test.reopened()
        for item in items { #expect(try reopened.vouching(for: item.reference, with: item.der ?? []) == .unknown) }
        #expect(try mark() == old)
        try reopened.unlock(password: .of("correct"))
        #expect(try mark() != old)
        for item in items { #expect(try reopened.vouching(for: item.reference, with: item.der ?? []) == .sealed) }
        let password = try #require(try test.passwords().first)
        #expect(try reopened.secretText(password.reference) == "s3cret")
    }

    @Test(arguments: [false, true]) func anOlderKeychainGetsItsSealsWithANewPassword(rekeys: Bool) throws {
        try makeOld()
        let reopened = try test.reopened()
        if rekeys {
            try reopened.rekey(from: .of("correct"), to: .of("new"), cost: .negligible)
        } else {
            try reopened.changePassword(from: .of("correct"), to: .of("new"), cost: .negligible)
        }
        try reopened.unlock(password: .of("new"))
        for item in items { #expect(try reopened.vouching(for: item.reference, with: item.der ?? []) == .sealed) }
    }

    @Test func aKeyOfAnOlderKeychainThatDoesNotFitItsHashGetsNoSeal() throws {
        try makeOld()
        try test.forge("UPDATE keys SET der = ? WHERE kcls = 0", [.blob(mallory().spki)])
        let reopened = try test.reopened()
        try reopened.unlock(password: .of("correct"))
        #expect(throws: KeychainError(.decode)) {
            try reopened.vouching(for: publicKey.reference, with: mallory().spki)
        }
    }

    /// An attacker who puts the old mark back must not get anything sealed.
    @Test func theMarkOfAnOlderFileSealsNothing() throws {
        let old = try makeOld()
        try test.reopened().unlock(password: .of("correct"))
        let other = try mallory()
        try test.forge("UPDATE keychain SET key_check = ?", [old])
        try test.forge(
            "UPDATE keys SET der = ?, klbl = ?, sealed = NULL WHERE kcls = 0",
            [.blob(other.spki), .blob(other.keyHash)])
        try test.downgrade(to: 7)
        let reopened = try test.reopened()
        try reopened.unlock(password: .of("correct"))
        #expect(try reopened.vouching(for: publicKey.reference, with: other.spki) == .unsealed)
        #expect(try mark() != old)
    }

    @Test func aBackupOfAnOlderKeychainIsRestoredWithSeals() throws {
        try makeOld()
        _ = try test.reopened().backUp(to: test.folder.path("backup"))
        let restored = try LocalKeychain.restore(
            test.folder.path("backup"), to: test.folder.path("restored"), password: .of("correct"),
            beside: [test.keychain.identifier])
        for itemClass in [ItemClass.key, .certificate] {
            for item in try restored.items(matching: Query(itemClass, limit: .all)).found {
                #expect(try restored.vouching(for: item.reference, with: item.der ?? []) == .sealed)
            }
        }
    }
}
