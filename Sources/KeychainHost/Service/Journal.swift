internal import Glibc
package import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import Synchronization

/// The last uses of keys, passwords and logins by all clients of a process, in its memory alone.
package final class Journal: Sendable {
    /// The number of events that are kept.
    package static let capacity = 1000

    private struct State {
        /// The event of a number is at its remainder by the capacity.
        var entries: [JournalEntry] = []
        /// The number of all events so far, which is that of the next one.
        var count: UInt64 = 0
        var waits: [ObjectIdentifier: Signal] = [:]
    }

    private let state = Mutex(State())
    private let echo: @Sendable (String) -> Void

    /// - Parameter echo: is given the line of each event as well.
    package init(echo: @escaping @Sendable (String) -> Void = { _ in }) {
        self.echo = echo
    }

    package func note(_ entry: JournalEntry) {
        let waits = state.withLock { state in
            if state.entries.count < Journal.capacity {
                state.entries.append(entry)
            } else {
                state.entries[Int(state.count % UInt64(Journal.capacity))] = entry
            }
            state.count += 1
            return Array(state.waits.values)
        }
        for wait in waits { wait.send() }
        echo(entry.line)
    }

    /// The events after a position. Waits for one until the time is over or the request ends.
    ///
    /// - Throws: as ``RequestTicket/check()`` does.
    func page(
        after position: UInt64?, waiting patience: Duration, _ ticket: RequestTicket
    ) throws(KeychainError) -> JournalPage {
        let present = page(after: position)
        guard present.entries.isEmpty, patience > .zero else { return present }
        let end = ContinuousClock.now + patience
        let signal = Signal()
        state.withLock { $0.waits[ObjectIdentifier(signal)] = signal }
        defer { state.withLock { $0.waits[ObjectIdentifier(signal)] = nil } }
        while true {
            let page = page(after: position)
            let rest = ticket.limited(ContinuousClock.now.duration(to: end))
            if !page.entries.isEmpty || rest <= .zero { return page }
            _ = ticket.signal.wait(
                orFor: [signal.descriptor], atMost: Int32(clamping: Int64(rest / .milliseconds(1)) + 1))
            _ = signal.wait(orFor: [], atMost: 0)
            try ticket.check()
        }
    }

    /// A position that this journal has not reached is of another host's, and counts as none.
    func page(after position: UInt64?) -> JournalPage {
        state.withLock { state in
            let oldest = state.count - UInt64(state.entries.count)
            let wanted = position.flatMap { $0 <= state.count ? $0 : nil }
            let first = max(oldest, wanted ?? 0)
            let entries = (first..<state.count).map { state.entries[Int($0 % UInt64(Journal.capacity))] }
            return JournalPage(entries, next: state.count, isIncomplete: wanted.map { $0 < oldest } ?? false)
        }
    }
}

/// The journal of a process for the uses of one client.
struct ClientJournal: Sendable {
    private let journal: Journal
    private let client: HostStatus.Client

    /// Characters of a name that are kept, which a client may have chosen.
    private static let maximumName = 200

    init(_ journal: Journal, of client: HostStatus.Client) {
        self.journal = journal
        self.client = client
    }

    /// - Parameters:
    ///   - item: the label of the item; nil for an action on a whole keychain.
    ///   - keychain: the name of the keychain; nil for all.
    ///   - failure: the reason why the action failed; nil for one that was done.
    func note(_ action: JournalEntry.Action, _ item: String?, of keychain: String?, failure: ErrSec? = nil) {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        let time = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
        journal.note(
            JournalEntry(
                time: time, program: client.program, process: client.process, action,
                item: item.map(ClientJournal.kept), keychain: keychain.map(ClientJournal.kept), failure: failure))
    }

    private static func kept(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(maximumName)))
    }

    /// Notes the outcome of an action.
    func noting<Result: ~Copyable>(
        _ action: JournalEntry.Action, _ item: String?, of keychain: String?,
        _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        do throws(KeychainError) {
            let result = try body()
            note(action, item, of: keychain)
            return result
        } catch {
            note(action, item, of: keychain, failure: error.code)
            throw error
        }
    }
}

extension HostStatus.Client {
    static var ofThisProcess: HostStatus.Client {
        HostStatus.Client(process: getpid(), program: Executable.name(of: getpid()))
    }
}

extension Item {
    /// The name of the item in the journal: its label, or else the service or server of a password.
    var journalName: String {
        label ?? self[.service]?.string ?? self[.server]?.string ?? itemClass.anyNoun.rendered(in: .english)
    }
}

extension CardAdministration {
    var action: JournalEntry.Action {
        switch self {
        case .changePIN: .changePIN
        case .changeUnblockingKey: .changeUnblockingKey
        case .unblockPIN: .unblockPIN
        case .reset: .reset
        }
    }
}
