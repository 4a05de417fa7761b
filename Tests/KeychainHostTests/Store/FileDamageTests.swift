import Glibc
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A damaged file gives an error or its undamaged content: never a crash, and never a wrong secret.
@Suite struct FileDamageTests {
    private let folder: TemporaryFolder
    private let image: [UInt8]
    private let originals: [PersistentReference: Attributes]

    init() throws {
        folder = try TemporaryFolder()
        let path = folder.path("original")
        var originals: [PersistentReference: Attributes] = [:]
        do {
            let keychain = try LocalKeychain.create(at: path, password: .of("p"), cost: .negligible)
            for number in 0..<20 {
                let item = try keychain.add(
                    .genericPassword(
                        [
                            .account: .string("\(number)"), .service: .string("service \(number)"),
                            .comment: "a comment, in no index", .creator: 0x746B_6974,
                        ], secret: .of("secret \(number)")))
                originals[item.reference] = item.attributes
            }
        }
        self.originals = originals
        // The thread of the lock timer may be the last to close the file, and so to empty its log.
        eventually { access(path + "-wal", F_OK) != 0 }
        image = Self.read(path)
    }

    private static func read(_ path: String) -> [UInt8] {
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(file, &bytes, bytes.count)
        return Array(bytes.prefix(count))
    }

    private let expected: Set<ErrSec> = [
        .invalidKeychain, .authFailed, .decode, .wrongSecVersion, .io, .internal, .notAvailable, .noSuchKeychain,
        .itemNotFound,
    ]

    /// Opens a copy of the file after `damage`, and counts the secrets that can be read.
    private func readDamaged(_ name: String, _ damage: (inout [UInt8]) -> Void) throws -> Int {
        let path = folder.path(name)
        try write(to: path, damage)
        var read = 0
        do throws(KeychainError) {
            let keychain = try LocalKeychain.open(path)
            try keychain.unlock(password: .of("p"))
            for item in try keychain.items(matching: Query(.genericPassword, limit: .all)).found {
                #expect(originals[item.reference] == item.attributes, "what is shown is what was stored")
                do throws(KeychainError) {
                    let secret = try keychain.secretText(item.reference)
                    #expect(secret == "secret \(item[.account]?.string ?? "?")")
                    read += 1
                } catch {
                    #expect(expected.contains(error.code), "\(error)")
                }
            }
        } catch {
            #expect(expected.contains(error.code), "\(error)")
        }
        return read
    }

    private func write(to path: String, _ damage: (inout [UInt8]) -> Void) throws {
        var bytes = image
        damage(&bytes)
        let file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o600)
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    @Test func anUndamagedCopyReadsCompletely() throws {
        #expect(try readDamaged("copy") { _ in } == 20)
    }

    @Test func aFlippedByteAnywhereIsSurvived() throws {
        // The file's header byte by byte, the rest in steps of 127, which reach offsets all over a page.
        for offset in Array(0..<100) + Array(stride(from: 100, to: image.count, by: 127)) {
            _ = try readDamaged("flipped") { $0[offset] ^= 0x41 }
        }
    }

    /// The row's header is right before the item's id. One bit of it turns the secret into text, a number or NULL.
    @Test func aFlippedBitInTheHeaderOfARowMakesNoOtherSecret() throws {
        let database = try Database(path: folder.path("original"), access: .readWrite, busyTimeout: 1000)
        for row in [1, 20] {
            let id = try #require(try database.value("SELECT uuid FROM genp WHERE id = \(row)").blob)
            let start = try #require(image.indices.first { image[$0...].starts(with: id) })
            for offset in start - 40..<start {
                for bit in 0..<8 { _ = try readDamaged("bit") { $0[offset] ^= 1 << bit } }
            }
        }
    }

    /// A row's header has its length: with a damaged one SQLite may refuse the whole file.
    @Test func aBackupOfADamagedFileHasWhatCanBeRead() throws {
        let database = try Database(path: folder.path("original"), access: .readWrite, busyTimeout: 1000)
        let id = try #require(try database.value("SELECT uuid FROM genp WHERE id = 7").blob)
        let start = try #require(image.indices.first { image[$0...].starts(with: id) })
        for (number, offset) in (start - 8..<start).enumerated() {
            for bit in 0..<8 {
                let (path, backup, restored) = (
                    folder.path("damaged"), folder.path("backup\(number)-\(bit)"),
                    folder.path("restored\(number)-\(bit)")
                )
                for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
                try write(to: path) { $0[offset] ^= 1 << bit }
                let count = try LocalKeychain.open(path).backUp(to: backup)
                #expect(count.items >= 19, "at \(start - offset), bit \(bit)")
                #expect(count.items + count.damaged >= 20, "at \(start - offset), bit \(bit)")
                let keychain = try LocalKeychain.restore(backup, to: restored, password: .of("p"))
                let found = try keychain.items(matching: Query(.genericPassword, limit: .all))
                #expect(found.missing.isEmpty)
                #expect(found.found.allSatisfy { originals[$0.reference] == $0.attributes })
            }
        }
    }

    @Test func aFlippedBitInARowShowsNoOtherAttribute() throws {
        let database = try Database(path: folder.path("original"), access: .readWrite, busyTimeout: 1000)
        let id = try #require(try database.value("SELECT uuid FROM genp WHERE id = 7").blob)
        let start = try #require(image.indices.first { image[$0...].starts(with: id) })
        for offset in start..<start + 160 {
            let read = try readDamaged("bit") { $0[offset] ^= 1 << (offset % 8) }
            #expect(read == 19, "at \(offset - start)")
        }
    }

    /// The keychain's own row has its id and the cost of a guess at its password.
    @Test func aFlippedBitInTheKeychainsOwnRowIsToldBeforeItIsUnlocked() throws {
        let original = try LocalKeychain.open(folder.path("original"))
        let id = original.state.withLock { $0.id.bytes }
        let start = try #require(image.indices.first { image[$0...].starts(with: id) })
        var told = 0
        for offset in start - 24..<start + 160 {
            for bit in 0..<8 {
                let path = folder.path("own")
                try write(to: path) { $0[offset] ^= 1 << bit }
                do throws(KeychainError) {
                    let keychain = try LocalKeychain.open(path)
                    if keychain.damage == nil {
                        #expect(keychain.identifier == original.identifier)
                        #expect(try keychain.cost == .negligible)
                        #expect(try keychain.hasPassword)
                        try keychain.unlock(password: .of("p"))
                    } else {
                        told += 1
                        #expect(throws: KeychainError(.invalidKeychain)) { try keychain.cost }
                        let found = try SearchList(locals: [keychain]).items(matching: Query(.genericPassword))
                        #expect(found.missing.map(\.error) == [KeychainError(.invalidKeychain)])
                    }
                } catch {
                    #expect(expected.contains(error.code), "at \(offset - start), bit \(bit): \(error)")
                }
            }
        }
        #expect(told > 1000)
    }

    /// Searches, and then adds what is there, after each bit of every page of an index was flipped in turn.
    @Test(arguments: ["genp_unique", "genp_svce", "sqlite_autoindex_genp_1"])
    func aDamagedIndexHidesAndDoublesNothing(index: String) throws {
        let database = try Database(path: folder.path("original"), access: .readWrite, busyTimeout: 1000)
        let page = try #require(
            try database.value("SELECT rootpage FROM sqlite_schema WHERE name = '\(index)'").integer)
        let start = Int(page - 1) * 4096
        for offset in stride(from: start, to: start + 4096, by: 5) {
            let path = folder.path("index")
            for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
            try write(to: path) { $0[offset] ^= 1 << (offset % 8) }
            do throws(KeychainError) {
                let keychain = try LocalKeychain.open(path)
                try keychain.unlock(password: .of("p"))
                for number in [0, 7, 19] {
                    let attributes: Attributes = [
                        .account: .string("\(number)"), .service: .string("service \(number)"),
                    ]
                    let result = try keychain.items(matching: Query(.genericPassword, attributes))
                    #expect(result.found.count == 1 || !result.missing.isEmpty, "\(offset)")
                    for item in result.found {
                        #expect(try keychain.secretText(item.reference) == "secret \(number)")
                    }
                    #expect(throws: KeychainError.self) {
                        try keychain.add(.genericPassword(attributes, secret: .of("another")))
                    }
                }
            } catch {
                #expect(expected.contains(error.code), "\(error)")
            }
            #expect(try count(in: path) == 20)
        }
    }

    private func count(in path: String) throws -> Int64? {
        try Database(path: path, access: .readWrite, busyTimeout: 1000)
            .value("SELECT count(*) FROM genp NOT INDEXED").integer
    }

    @Test func aTruncatedFileIsSurvived() throws {
        for count in [1, 15, 16, 99, 100, 101, 4095, 4096, 4097, image.count / 2, image.count - 4096, image.count - 1] {
            _ = try readDamaged("short") { $0.removeLast($0.count - count) }
        }
    }

    @Test func aPageOfZerosOrNoiseIsSurvived() throws {
        for page in 0..<image.count / 4096 {
            for filler in [0, 0xFF] as [UInt8] {
                _ = try readDamaged("page") { bytes in
                    for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = filler }
                }
            }
        }
    }

    @Test func aForeignWriteAheadLogIsSurvived() throws {
        let path = folder.path("logged-wal")
        let file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o600)
        _ = Glibc.write(file, [UInt8](repeating: 0x37, count: 9000), 9000)
        close(file)
        #expect(try readDamaged("logged") { _ in } == 20)
    }
}
