import SecureBytes
import Synchronization
import TestSupport
import Testing

@testable import KeychainModel
@testable import KeychainStore

/// The store by itself, without a host: nobody is asked, and there is neither a card nor a search list.
@Suite struct KeychainConnectionTests {
    private let folder: TemporaryFolder
    private let file: KeychainFile

    init() throws {
        folder = try TemporaryFolder()
        file = try KeychainFile(new: folder.path("a.keychain"))
    }

    private static func secret(_ text: String) -> Secret {
        var bytes = Array(text.utf8)
        return Secret(consuming: &bytes)
    }

    private func makeUnlocked(
        isSessionLocked: @escaping @Sendable () -> Bool = { false }
    ) throws -> KeychainConnection {
        let key = try KeychainConnection.create(
            file, password: Self.secret("correct"), cost: ScryptCost(n: 2, r: 1, p: 1))
        var connection = try KeychainConnection(
            KeychainFile(existing: file.path),
            in: ConnectionEnvironment(clock: { 7 }, isSessionLocked: isSessionLocked))
        try connection.unlock(key)
        return connection
    }

    private func add(to connection: borrowing KeychainConnection, _ item: NewItem) throws -> Item {
        try #require(try connection.carryOut([.add(item)]) { results in results.first?.added })
    }

    @Test func anItemIsFoundByWhomItsGroupIsOpenTo() throws {
        let connection = try makeUnlocked()
        let item = try add(to: connection, .genericPassword([.account: "anna"], secret: Self.secret("s")))
        #expect(item[.creationDate] == .date(7))
        let query = try Query(.genericPassword, [.account: "anna"])
        let own = try connection.search(ResolvedQuery(query)).found
        #expect(own == [item])
        let ofLocal = try connection.search(ResolvedQuery(query, accessGroups: AccessGroups(["local"]))).found
        #expect(ofLocal == [item])
        let ofStrangers = try connection.search(ResolvedQuery(query, accessGroups: AccessGroups(["strangers"]))).found
        #expect(ofStrangers.isEmpty)
    }

    @Test func withoutItsKeyAConnectionFindsItemsAndReadsNoSecret() throws {
        var connection = try makeUnlocked()
        let item = try add(to: connection, .genericPassword([.account: "anna"], secret: Self.secret("s")))
        let wasUnlocked = connection.lock()
        #expect(wasUnlocked)
        let found = try connection.search(ResolvedQuery(Query(item.reference))).found
        #expect(found == [item])
        do throws(KeychainError) {
            _ = try connection.secret(of: item.reference)
            Issue.record("a secret was read without the key")
        } catch {
            #expect(error.code == .interactionNotAllowed)
        }
    }

    @Test func theEnvironmentSaysWhetherTheSessionIsLocked() throws {
        let session = Session()
        var connection = try makeUnlocked { session.isLocked.withLock { $0 } }
        let item = try add(to: connection, .genericPassword([.account: "anna"], secret: Self.secret("s")))
        session.isLocked.withLock { $0 = true }
        do throws(KeychainError) {
            _ = try connection.secret(of: item.reference)
            Issue.record("a secret was read while the session was locked")
        } catch {
            #expect(error.code == .interactionNotAllowed)
        }
    }

    private final class Session: Sendable {
        let isLocked = Mutex(false)
    }
}
