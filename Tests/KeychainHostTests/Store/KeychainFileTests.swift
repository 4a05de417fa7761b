import Glibc
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
}

private func write(_ bytes: [UInt8], to path: String) {
    let file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o600)
    _ = Glibc.write(file, bytes, bytes.count)
    close(file)
}

private func entries(_ folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        names.append(
            withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            })
    }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
}

@Suite struct KeychainFileTests {
    private func create(_ path: String) throws -> LocalKeychain {
        try LocalKeychain.create(at: path, password: .of("p"), cost: .negligible)
    }

    // MARK: Creating

    @Test func theFileIsTheOwnersAloneAndSoAreItsCompanions() throws {
        let folder = try TemporaryFolder()
        let keychain = try create(folder.path("k"))
        try keychain.add(.genericPassword([:], secret: nil))
        #expect(mode(folder.path("k")) == 0o600)
        #expect(mode(folder.path("k-wal")) == 0o600)
        #expect(mode(folder.path("k-shm")) == 0o600)
    }

    @Test func missingFoldersAreMadeForTheOwnerAlone() throws {
        let folder = try TemporaryFolder()
        let keychain = try create(folder.path("a/b/k"))
        #expect(mode(folder.path("a")) == 0o700)
        #expect(mode(folder.path("a/b")) == 0o700)
        #expect(keychain.path == folder.path("a/b/k"))
    }

    @Test func theUmaskTakesNothingAndGivesNothing() throws {
        let folder = try TemporaryFolder()
        for (name, mask) in [("open", "000"), ("shut", "777")] {
            let path = folder.path("\(name)/k")
            let lines = try WriterProcess(["create", path], umask: mask).remainingLines()
            #expect(lines.last == "created")
            #expect(mode(folder.path(name)) == 0o700)
            #expect(mode(path) == 0o600)
        }
    }

    @Test func aFolderThatCannotBeMadeIsAnError() throws {
        let folder = try TemporaryFolder()
        symlink(folder.path("nowhere"), folder.path("dangling"))
        write([1], to: folder.path("file"))
        for path in ["dangling/k", "dangling/a/k", "file/k", "file/a/k"] {
            #expect(throws: KeychainError(.io)) { try create(folder.path(path)) }
        }
        #expect(entries(folder.path) == ["dangling", "file"])
    }

    @Test func creatingLeavesNothingButTheKeychain() throws {
        let folder = try TemporaryFolder()
        do { _ = try create(folder.path("k")) }
        #expect(entries(folder.path) == ["k"])
    }

    /// A program that is killed while it makes a keychain leaves a draft. Drafts of running programs stay.
    @Test func whatAKilledProgramLeftGoesWithTheNextKeychain() throws {
        let folder = try TemporaryFolder()
        func draft(_ name: String, age: Int = 3600) throws -> Int32 {
            let file = open(folder.path(name), O_CREAT | O_EXCL | O_RDWR, 0o600)
            var times = [timespec](repeating: timespec(), count: 2)
            times[0].tv_sec = time(nil) - age
            times[1].tv_sec = times[0].tv_sec
            try #require(file >= 0 && futimens(file, times) == 0)
            return file
        }
        let digits = String(repeating: "A1", count: 16)
        let kept = [
            ".new.keychain.\(digits.dropLast(2))", ".new.keychain.\(digits)00", ".other.keychain.\(digits)",
            ".new.keychain.B0\(digits.dropFirst(2))", ".new.keychain.C0\(digits.dropFirst(2))",
        ]
        for name in kept.prefix(3) { close(try draft(name)) }
        close(try draft(kept[3], age: 5))
        let atWork = try draft(kept[4])
        defer { close(atWork) }
        try #require(flock(atWork, LOCK_EX | LOCK_NB) == 0)
        for suffix in ["", "-wal", "-journal"] { close(try draft(".new.keychain.\(digits)\(suffix)")) }
        _ = try create(folder.path("new.keychain"))
        #expect(
            Set(entries(folder.path)).subtracting(["new.keychain-wal", "new.keychain-shm"])
                == Set(kept + ["new.keychain"]))
    }

    @Test func aNameThatIsTakenIsLeftAlone() throws {
        let folder = try TemporaryFolder()
        let first = try create(folder.path("k"))
        #expect(throws: KeychainError(.duplicateKeychain)) { try create(folder.path("k")) }
        write([1, 2, 3], to: folder.path("other"))
        #expect(throws: KeychainError(.duplicateKeychain)) { try create(folder.path("other")) }
        mkdir(folder.path("folder"), 0o700)
        #expect(throws: KeychainError(.duplicateKeychain)) { try create(folder.path("folder")) }
        #expect(try LocalKeychain.open(folder.path("k")).identifier == first.identifier)
        #expect(!entries(folder.path).contains { $0.hasPrefix(".") })
    }

    @Test func whatACrashLeftOfAnotherKeychainIsNotTakenForChanges() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("k")
        for suffix in ["-wal", "-shm", "-journal"] {
            write([1, 2, 3], to: path + suffix)
            let error = try #require(throws: KeychainError.self) { try create(path) }
            #expect(error.code == .duplicateKeychain)
            #expect(error.reason.contains("k\(suffix)"))
            #expect(entries(folder.path) == ["k\(suffix)"])
            unlink(path + suffix)
        }
        _ = try create(path)
    }

    @Test func aSymbolicLinkIsNotFollowedWhenCreating() throws {
        let folder = try TemporaryFolder()
        symlink(folder.path("target"), folder.path("k"))
        #expect(throws: KeychainError(.duplicateKeychain)) { try create(folder.path("k")) }
        #expect(mode(folder.path("target")) == nil)
    }

    @Test func linksOnTheWayToTheFolderAreFollowed() throws {
        let folder = try TemporaryFolder()
        mkdir(folder.path("real"), 0o700)
        symlink(folder.path("real"), folder.path("link"))
        #expect(try create(folder.path("link/k")).path == folder.path("real/k"))
        symlink(folder.path("real/k"), folder.path("alias"))
        #expect(try LocalKeychain.open(folder.path("alias")).path == folder.path("real/k"))
    }

    @Test(arguments: ["", "/", "folder/", ".", "..", "a\0b"])
    func whatIsNoPathOfAFileIsRefused(path: String) {
        #expect(throws: KeychainError(.param)) { try create(path) }
    }

    @Test(arguments: [0o720, 0o702, 0o777, 0o1777] as [mode_t])
    func aFolderOthersMayWriteToIsRefused(mode: mode_t) throws {
        let folder = try TemporaryFolder()
        let keychain = try create(folder.path("k"))
        chmod(folder.path, mode)
        #expect(throws: KeychainError(.noAccessForItem)) { try create(folder.path("new")) }
        let error = try #require(throws: KeychainError.self) { try LocalKeychain.open(keychain.path) }
        #expect(error.code == .noAccessForItem)
        #expect(error.remedy?.contains("chmod 700") == true)
    }

    // MARK: Opening

    @Test(arguments: [0o640, 0o604, 0o666, 0o660, 0o610] as [mode_t])
    func aFileOthersHaveAccessToIsRefused(mode: mode_t) throws {
        let folder = try TemporaryFolder()
        _ = try create(folder.path("k"))
        chmod(folder.path("k"), mode)
        let error = try #require(throws: KeychainError.self) { try LocalKeychain.open(folder.path("k")) }
        #expect(error.code == .noAccessForItem)
        #expect(error.remedy == "chmod 600 it")
    }

    @Test func nobodyIsToldToChangeTheModeOfWhatIsNoKeychain() throws {
        let folder = try TemporaryFolder()
        for count in [0, 20, 5000] {
            write([UInt8](repeating: 0x41, count: count), to: folder.path("other"))
            chmod(folder.path("other"), 0o644)
            let error = try #require(throws: KeychainError.self) { try LocalKeychain.open(folder.path("other")) }
            #expect(error.code == .invalidKeychain)
            #expect(error.remedy == nil)
        }
        #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.open("/etc/passwd") }
        #expect(entries(folder.path) == ["other"])
    }

    @Test func aMissingFileIsNoKeychain() throws {
        let folder = try TemporaryFolder()
        #expect(throws: KeychainError(.noSuchKeychain)) { try LocalKeychain.open(folder.path("none")) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try LocalKeychain.open(folder.path("none/none")) }
        #expect(entries(folder.path).isEmpty)
    }

    @Test func aFolderAPipeAndADeviceAreNoKeychain() throws {
        let folder = try TemporaryFolder()
        mkfifo(folder.path("pipe"), 0o600)
        for path in [folder.path, folder.path("pipe"), "/dev/null"] {
            #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.open(path) }
        }
    }

    @Test(arguments: [0, 1, 100, 4096, 9000])
    func otherFilesAreNoKeychainAndStayAsTheyAre(count: Int) throws {
        let folder = try TemporaryFolder()
        write([UInt8](repeating: 0x41, count: count), to: folder.path("other"))
        #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.open(folder.path("other")) }
        var status = stat()
        #expect(lstat(folder.path("other"), &status) == 0 && status.st_size == count)
        #expect(entries(folder.path) == ["other"])
    }

    @Test func aDatabaseOfAnotherProgramIsNoKeychain() throws {
        let folder = try TemporaryFolder()
        write([], to: folder.path("other"))
        do {
            let database = try Database(path: folder.path("other"), access: .readWrite, busyTimeout: 0)
            try database.execute("CREATE TABLE t (x); PRAGMA user_version = 1")
        }
        #expect(throws: KeychainError(.invalidKeychain)) { try LocalKeychain.open(folder.path("other")) }
    }

    // MARK: Read-only files

    @Test func aFileMarkedReadOnlyIsReadAndNeverWritten() throws {
        let folder = try TemporaryFolder()
        let item: Item
        do {
            let keychain = try create(folder.path("k"))
            item = try keychain.add(.genericPassword([.account: "a"], secret: .of("s")))
        }
        chmod(folder.path("k"), 0o400)
        let keychain = try LocalKeychain.open(folder.path("k"))
        #expect(keychain.isReadOnly)
        try keychain.unlock(password: .of("p"))
        #expect(try keychain.secretText(item.reference) == "s")
        #expect(throws: KeychainError(.readOnly)) { try keychain.add(.genericPassword([:], secret: nil)) }
        #expect(throws: KeychainError(.readOnly)) {
            try keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
        }
        #expect(throws: KeychainError(.readOnly)) { try keychain.delete(matching: Query(item.reference)) }
        #expect(throws: KeychainError(.readOnly)) { try keychain.changePassword(from: .of("p"), to: .of("q")) }
        #expect(try keychain.items(matching: Query(.genericPassword)).found == [item])
    }

    // MARK: Layouts

    @Test func aLayoutFromTheFutureIsNotTouched() throws {
        let test = try TestKeychain()
        try test.database().execute(
            "UPDATE program SET version = '0.9.1'; PRAGMA user_version = \(Migrations.currentVersion + 1)")
        let error = try #require(throws: KeychainError.self) { try test.reopened() }
        #expect(error.code == .wrongSecVersion)
        #expect(error.remedy == "install tokenkit 0.9.1 or later")
        let version = try test.database().value("PRAGMA user_version").integer
        #expect(version == Migrations.currentVersion + 1)
    }

    /// What a foreign program has put into a file is neither run nor shown.
    @Test(arguments: [
        "UPDATE program SET version = '0.9.1 from https://example.com'", "DELETE FROM program", "DROP TABLE program",
        "UPDATE program SET version = printf('%.*c', 1000, '1')",
        """
        DROP TABLE program;
        CREATE VIEW program (version) AS
            WITH RECURSIVE endless AS (SELECT 1 AS n UNION ALL SELECT n FROM endless) SELECT max(n) FROM endless;
        """,
        "DROP TABLE program; CREATE TABLE program (other TEXT, version TEXT AS ('0.9.1'))",
    ])
    func aLayoutFromTheFutureThatNamesNoVersionIsRefused(sql: String) throws {
        let test = try TestKeychain()
        try test.database().execute(sql + "; PRAGMA user_version = \(Migrations.currentVersion + 1)")
        let error = try #require(throws: KeychainError.self) { try test.reopened() }
        #expect(error.code == .wrongSecVersion)
        #expect(error.remedy == "install a newer version of this program")
    }

    @Test(arguments: ["PRAGMA application_id = 1", "PRAGMA user_version = -1"])
    func anotherApplicationsMarkIsNoKeychain(sql: String) throws {
        let test = try TestKeychain()
        try test.database().execute(sql)
        #expect(throws: KeychainError(.invalidKeychain)) { try test.reopened() }
    }

    @Test func anInterruptedMigrationIsTakenUp() throws {
        let folder = try TemporaryFolder()
        write([], to: folder.path("k"))
        let database = try Database(path: folder.path("k"), access: .readWrite, busyTimeout: 0)
        try database.execute("PRAGMA application_id = \(KeychainFileHeader.applicationID)")
        try Migrations.apply(to: database)
        try Migrations.apply(to: database)
        let version = try database.value("PRAGMA user_version").integer
        #expect(version == Migrations.currentVersion)
    }

    @Test(arguments: [ItemClass.genericPassword, .certificate, .key])
    func everyAttributeOfAClassHasAColumn(itemClass: ItemClass) throws {
        let test = try TestKeychain()
        let database = try test.database()
        let statement = try database.prepare("SELECT name FROM pragma_table_info(?)", [.text(itemClass.rawValue)])
        var columns: Set<String> = []
        while try statement.step() {
            if case .text(let name) = statement[0] { columns.insert(name) }
        }
        let expected = itemClass.columns.attributes.map(\.rawValue) + ["id", "uuid", "der", "sealed", "row_check"]
        #expect(columns == Set(expected))
    }

    @Test(
        arguments: [
            (ItemClass.genericPassword, [.account: "a", .service: "s", .accessGroup: "g"]),
            (.genericPassword, [.service: "s"]),
            (.genericPassword, [.label: "l"]), (.certificate, [.publicKeyHash: .data([1])]),
            (.certificate, [.subject: .data([1])]),
            (.certificate, [.certificateType: 3, .issuer: .data([1]), .serialNumber: .data([1])]),
            (.key, [.applicationLabel: .data([1])]), (.key, [.label: "l"]),
        ] as [(ItemClass, Attributes)])
    func commonSearchesUseAnIndex(itemClass: ItemClass, attributes: Attributes) throws {
        let test = try TestKeychain()
        let (sql, values) = try itemClass.columns.select(Query(itemClass, attributes))
        let database = try test.database()
        let plan = try database.prepare("EXPLAIN QUERY PLAN " + sql, values)
        var lines: [String] = []
        while try plan.step() { if case .text(let line) = plan[3] { lines.append(line) } }
        #expect(lines.contains { $0.hasPrefix("SEARCH") && $0.contains("INDEX") }, "\(lines)")
    }

    @Test(
        arguments: [
            (.genericPassword, [.account: "a", .service: "s"]), (.genericPassword, [.label: "l"]),
            (.internetPassword, [.account: "a", .server: "s"]), (.certificate, [.label: "l"]),
            (.certificate, [.publicKeyHash: .data([1])]), (.key, [.label: "l"]),
        ] as [(ItemClass, Attributes)])
    func whatAnIndexGivesInOrderIsNotSorted(itemClass: ItemClass, attributes: Attributes) throws {
        let keychain = try TestKeychain().keychain
        let plan = try keychain.plan(for: Query(itemClass, attributes))
        #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH"), "\(plan)")
    }

    @Test func searchesOfOneShapeShareTheirSQLAndNotTheirValues() throws {
        let columns = ItemClass.genericPassword.columns
        func select(_ attributes: Attributes, in folding: Folding = []) throws -> (sql: String, values: [SQLValue]) {
            try columns.select(Query(.genericPassword, attributes, folding: folding))
        }
        let first = try select([.account: "a", .service: "s"])
        let second = try select([.service: "t", .account: "b"])
        #expect(first.sql == second.sql)
        #expect(Set(first.values) == [.blob(Array("a".utf8)), .blob(Array("s".utf8))])
        #expect(second.values == first.values.map { $0 == .blob(Array("a".utf8)) ? .blob([0x62]) : .blob([0x74]) })
        // A search with fewer conditions, or with one that has no column, has another shape.
        let others = [
            try select([.account: "a"]), try select([:]), try select([.account: "a", .tokenID: "t"]),
            try select([.account: "a", .label: "l"]), try select([.account: "a", .synchronizable: true]),
        ]
        #expect(Set(others.map(\.sql) + [first.sql]).count == 6)
        #expect(try select([.account: "a", .label: "l"], in: .case).sql == others[1].sql)
        for (sql, values) in others + [first] { #expect(sql.count { $0 == "?" } == values.count) }
    }

    @Test func everyConnectionIsAsDurableAndSecretiveAsPromised() throws {
        let test = try TestKeychain()
        let file = try KeychainFile(existing: test.path)
        let opened = try KeychainConnection(file, clock: { 0 })
        func pragma(_ name: String) throws -> SQLValue { try opened.database.value("PRAGMA \(name)") }
        #expect(try pragma("journal_mode") == .text("wal"))
        #expect(try pragma("synchronous") == .integer(2))
        #expect(try pragma("secure_delete") == .integer(1))
        #expect(try pragma("foreign_keys") == .integer(0))
        #expect(try pragma("trusted_schema") == .integer(0))
    }
}
