internal import KeychainHost
internal import PIVDriver
internal import TokenKit

/// What this run of the command works with: the readers, the local keychains, and one search list over both.
///
/// The one place that names the drivers.
struct Session {
    private(set) var slots: [TokenSlot]
    let locals: [LocalKeychain]

    /// What could not be opened; it hides nothing else.
    private(set) var failures: [SearchList.Failure] = []

    /// - Parameters:
    ///   - keychains: files or names of local keychains to use instead of all.
    ///   - cards: whether cards are used.
    ///   - locals: whether local keychains are used.
    init(
        _ options: CardOptions? = nil, keychains: [String] = [], cards: Bool = true, locals: Bool = true
    ) throws {
        let trace = try options?.trace.map { try TraceFile(path: $0) }
        var failures: [SearchList.Failure] = []
        slots = cards ? Session.slots(options, try DisabledDrivers(), trace: trace, &failures) : []
        self.locals = locals ? try Session.locals(keychains, &failures) : []
        self.failures = failures
    }

    mutating func keep(_ isWanted: (TokenSlot) -> Bool) { slots = slots.filter(isWanted) }

    var tokens: [TokenKeychain] { slots.map { TokenKeychain($0) } }

    var searchList: SearchList { SearchList(tokens: tokens, locals: locals, failures: failures) }

    /// The items or keys of a search, its failures reported on standard error.
    func reporting<Element>(_ result: SearchList.Result<Element>) -> [Element] {
        let others = failures.filter { !result.failures.contains($0) }
        for failure in others + result.failures { printError("\(failure.keychain): \(failure.error)") }
        return result.found
    }

    /// The drivers of cards that this program has.
    ///
    /// - Parameter recalls: whether they believe what was remembered.
    static func drivers(recalls: Bool = true) -> [any TokenDriver] {
        let (cache, key) = (Directories.own.cache, Directories.own.data + "/cache.key")
        return [
            PIVDriver(
                memory: FileTokenMemory(directory: cache + "/tokens", recalls: recalls),
                certificates: FileTokenMemory(
                    directory: cache + "/certificates", recalls: recalls, limit: FileTokenMemory.certificateLimit,
                    keyFile: key))
        ]
    }

    private static func slots(
        _ options: CardOptions?, _ disabled: DisabledDrivers, trace: TraceFile?,
        _ failures: inout [SearchList.Failure]
    ) -> [TokenSlot] {
        do throws(CardError) {
            let readers = try PCSCReader.all()
            let drivers = Session.drivers(recalls: options?.rescan != true).filter { !disabled.names.contains($0.name) }
            return readers.filter { reader in options?.reader.map { reader.name.contains($0) } ?? true }
                .map { TokenSlot(reader: $0, drivers: drivers, trace: trace) }
        } catch {
            if error.code != .noReader {
                failures.append(SearchList.Failure(keychain: "smart cards", error: KeychainError(TokenError(error))))
            }
            return []
        }
    }

    private static func locals(
        _ names: [String], _ failures: inout [SearchList.Failure]
    ) throws(KeychainError) -> [LocalKeychain] {
        guard names.isEmpty else {
            var opened: [LocalKeychain] = []
            for name in names { opened.append(try LocalKeychain.named(name)) }
            return opened
        }
        let opened = try KeychainPreferences.own.open()
        failures += opened.failures
        return opened.keychains
    }
}

extension Directories {
    /// Those of whoever runs the command.
    static var own: Directories { KeychainPreferences.own.directories }

    /// The socket over which a virtual card takes its orders.
    var virtualCardSocket: String { runtime + "/tokenkit-virtual-card.sock" }
}

extension KeychainPreferences {
    /// Those of whoever runs the command.
    static let own = KeychainPreferences()
}
