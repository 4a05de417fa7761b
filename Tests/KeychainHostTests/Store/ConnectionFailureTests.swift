import Testing

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

@Suite struct ConnectionFailureTests {
    @Test func aFullDiskIsReportedAndNothingIsLost() throws {
        let test = try TestKeychain()
        let item = try test.addPassword("first")
        let opened = try KeychainConnection(KeychainFile(existing: test.path), clock: { 0 })
        let pages = try opened.database.value("PRAGMA page_count").integer ?? 0
        try opened.database.execute("PRAGMA max_page_count = \(pages)")
        var failure: KeychainError?
        for number in 0..<200 where failure == nil {
            do throws(KeychainError) {
                let alias = AttributeValue.string(String(repeating: "x", count: 4000))
                let attributes: Attributes = [.serialNumber: .data(Array("\(number)".utf8)), .alias: alias]
                _ = try opened.add(NewItem(.certificate, attributes, der: [0x30, 0]))
            } catch {
                failure = error
            }
        }
        #expect(failure == KeychainError(.diskFull))
        #expect(try test.keychain.items(matching: Query(item.reference)).found == [item])
        #expect(try test.secretText(item) == "s3cret")
    }

    @Test func aKeychainThatIsHeldByAnotherIsReported() throws {
        let test = try TestKeychain()
        let holder = try test.database()
        try holder.execute("BEGIN IMMEDIATE")
        let opened = try KeychainConnection(KeychainFile(existing: test.path), clock: { 0 })
        try opened.database.execute("PRAGMA busy_timeout = 1")
        #expect(throws: KeychainError(.notAvailable)) {
            _ = try opened.add(NewItem(.certificate, [:], der: [0x30, 0]))
        }
        try holder.execute("ROLLBACK")
        _ = try opened.add(NewItem(.certificate, [:], der: [0x30, 0]))
    }
}
