internal import Glibc
package import HostAPI
internal import KeychainModel
internal import Platform
package import TokenKit

/// The process of a host, which the hosts of all its clients share.
package final class HostProcess: Sendable {
    package let journal: Journal
    /// The notices at the desktop; nil for none.
    private let notices: DesktopNotices?
    private let clients: @Sendable () -> [HostStatus.Client]
    private let cards: SharedCards?
    private let files: SharedKeychains?
    private let modules: @Sendable () -> [any SharedTokenModule]
    private let start = Int64(time(nil))

    /// - Parameters:
    ///   - clients: tells the programs that the process serves now.
    ///   - cards: the cards that the process's clients share; nil for a process of one client.
    ///   - files: the keychain files that they share.
    ///   - modules: tells the modules of other makers that they share.
    ///   - journal: the uses of keys by all clients.
    ///   - notices: the notices at the desktop; nil for none.
    package init(
        serving clients: @escaping @Sendable () -> [HostStatus.Client] = { [] }, sharing cards: SharedCards? = nil,
        _ files: SharedKeychains? = nil, modules: @escaping @Sendable () -> [any SharedTokenModule] = { [] },
        journal: Journal = Journal(), notices: DesktopNotices? = nil
    ) {
        self.clients = clients
        (self.cards, self.files, self.modules) = (cards, files, modules)
        self.journal = journal
        self.notices = notices
    }

    /// Notes a client's use of a key that is in no keychain of a host.
    ///
    /// - Parameter isDone: whether it was not refused.
    package func noteSignature(
        by key: String, of owner: String, for client: HostStatus.Client, isDone: Bool
    ) {
        ClientJournal(journal, of: client).note(.sign, key, of: owner, failure: isDone ? nil : .userCanceled)
    }

    func notices(of client: HostStatus.Client) -> ClientNotices? { notices.map { ClientNotices($0, of: client) } }

    /// The listener to the news of the cards that a client uses; nil without notices at the desktop.
    package func news(of client: HostStatus.Client) -> TokenNews.Listener? {
        guard let notices = notices(of: client) else { return nil }
        return { news, reader in notices.tell(news, reader) }
    }

    var status: HostStatus {
        HostStatus(
            process: getpid(), version: HostStatus.currentVersion, start: start, clients: clients(),
            readersWithPIN: (cards?.readersWithPIN ?? []) + modules().flatMap(\.slotsWithPIN),
            unlockedKeychains: files?.unlocked ?? [])
    }

    /// Has the tokens of all modules that the process's clients share forget their PINs.
    func forgetPINsOfModules() {
        BlockingThread.runAll(modules().map { module in { module.forgetPINs() } }, atMost: SharedCards.timeToForget)
    }
}
