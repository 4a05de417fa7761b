internal import Platform
internal import KeychainStore
internal import KeychainModel
internal import CLinux
internal import Glibc

/// The state of the keychains when they were last looked at, from which the next look makes events.
struct KeychainSnapshot {
    let watcher = FileWatcher()
    private let preferences: KeychainPreferences
    /// The time of the first look.
    private let start = clinux_file_time()
    private var searchList: [String] = []
    private var defaultKeychain: String?
    private var journals: [String: JournalReader] = [:]
    /// The watches over folders where keychains of the list are missing.
    private var awaited: [Int32] = []

    /// The first snapshot, which makes no event.
    init(_ preferences: KeychainPreferences) {
        self.preferences = preferences
        for folder in [preferences.directories.configuration, preferences.directories.keychains] {
            // A folder that is made later would go unnoticed.
            try? Folder(path: folder).make()
        }
        _ = look()
    }

    /// The longest wait for the next events, in milliseconds.
    var longestWait: Int32 { watcher.longestWait }

    /// The events since the last look.
    ///
    /// Each watch is set before its file is looked at, so that no change falls in between.
    mutating func look() -> [KeychainEvent] {
        for watch in awaited { watcher.end(watch) }
        awaited = []
        watcher.clear()
        let listed = Set(searchList)
        let directories = preferences.directories
        for folder in [directories.configuration, directories.system, directories.keychains] {
            watcher.watch(folder: folder)
        }
        var events: [KeychainEvent] = []
        // Settings that cannot be read just now change nothing.
        if let current = try? preferences.searchList() {
            if current != searchList { events.append(KeychainEvent(.listChanged)) }
            searchList = current
        }
        if hasNewDefault() { events.append(KeychainEvent(.defaultChanged, location: defaultKeychain)) }
        return events + changes(listed)
    }

    private mutating func hasNewDefault() -> Bool {
        let before = defaultKeychain
        do throws(KeychainError) {
            defaultKeychain = try preferences.defaultKeychain()
        } catch {
            if error.code == .noDefaultKeychain { defaultKeychain = nil }
        }
        return defaultKeychain != before
    }

    /// The unread entries of the keychains' journals, and the keychains that have appeared at paths of the search list.
    private mutating func changes(_ listed: Set<String>) -> [KeychainEvent] {
        journals = journals.filter { searchList.contains($0.key) && $0.value.isPresent }
        return searchList.flatMap { path -> [KeychainEvent] in
            let isKnown = journals[path] != nil
            if !isKnown { awaited.append(watcher.watch(folder: Folder(of: path).path)) }
            watcher.watch(file: path)
            if !isKnown { journals[path] = JournalReader(path, since: start) }
            guard let journal = journals[path] else { return [] }
            // The log exists while the keychain is open here.
            watcher.watch(writingTo: journal.signalFile)
            let arrival = !isKnown && listed.contains(path) ? [KeychainEvent(.listChanged, location: path)] : []
            return arrival + journal.newEvents()
        }
    }
}

/// The journal of one keychain, and the position up to which it has been read.
final class JournalReader {
    private var opened: KeychainConnection
    private let path: String
    private let notifier: ChangeNotifier
    private var listening: Int32
    private var position: Int64

    /// Begins after the journal's present end, or with all events of a keychain that was created at `start` or later;
    /// nil for a file that is not a keychain.
    init?(_ path: String, since start: Int64) {
        do throws(KeychainError) {
            let file = try KeychainFile(existing: path)
            opened = try KeychainConnection(file, in: .ofUser)
            self.path = file.path
            notifier = ChangeNotifier(of: file.path)
            position = unsafe clinux_birth(file.path) >= start ? 0 : try opened.journalEnd()
            listening = notifier.listen()
        } catch {
            return nil
        }
    }

    deinit {
        if listening >= 0 { close(listening) }
    }

    var isPresent: Bool { opened.database.isPresent }

    /// The file whose writing tells of a change.
    var signalFile: String { notifier.log }

    private var newEntries: [ChangeJournal.Entry] {
        (try? ChangeJournal.entries(after: position, in: opened.database)) ?? []
    }

    func newEvents() -> [KeychainEvent] {
        if opened.lacksRoom {
            try? opened.lookForRoom()
            if !opened.lacksRoom { listening = notifier.listen() }
        }
        let entries = newEntries
        position = entries.last?.number ?? position
        return entries.map { entry in
            KeychainEvent(
                entry.kind, keychain: opened.identifier, location: path, item: entry.item,
                process: entry.process)
        }
    }
}
