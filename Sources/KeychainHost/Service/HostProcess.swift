internal import Glibc
package import HostAPI

/// The process of a host, which the hosts of all its clients share.
package final class HostProcess: Sendable {
    package let journal: Journal
    private let clients: @Sendable () -> [HostStatus.Client]
    private let cards: SharedCards?
    private let files: SharedKeychains?
    private let start = Int64(time(nil))

    /// - Parameters:
    ///   - clients: tells the programs that the process serves now.
    ///   - cards: the cards that the process's clients share; nil for a process of one client.
    ///   - files: the keychain files that they share.
    ///   - journal: the uses of keys by all clients.
    package init(
        serving clients: @escaping @Sendable () -> [HostStatus.Client] = { [] }, sharing cards: SharedCards? = nil,
        _ files: SharedKeychains? = nil, journal: Journal = Journal()
    ) {
        self.clients = clients
        (self.cards, self.files) = (cards, files)
        self.journal = journal
    }

    var status: HostStatus {
        HostStatus(
            process: getpid(), version: HostStatus.currentVersion, start: start, clients: clients(),
            readersWithPIN: cards?.readersWithPIN ?? [],
            unlockedKeychains: files?.unlocked ?? [])
    }
}
