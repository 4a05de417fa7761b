internal import FoundationEssentials
internal import Glibc
internal import KeychainHost
internal import PIVDriver
internal import TokenKit

/// What this run of the command works with: the readers, the local keychains, and one search list over both.
///
/// The one place that names the drivers.
struct Session {
    let slots: [TokenSlot]
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
        slots = cards ? Session.slots(options, trace: trace, &failures) : []
        self.locals = locals ? try Session.locals(keychains, &failures) : []
        self.failures = failures
    }

    var tokens: [TokenKeychain] { slots.map { TokenKeychain($0) } }

    var searchList: SearchList { SearchList(tokens: tokens, locals: locals) }

    /// The items or keys of a search, its failures reported on standard error.
    func reporting<Element>(_ result: SearchList.Result<Element>) -> [Element] {
        for failure in failures + result.failures { printError("\(failure.keychain): \(failure.error)") }
        return result.found
    }

    private static func slots(
        _ options: CardOptions?, trace: TraceFile?, _ failures: inout [SearchList.Failure]
    ) -> [TokenSlot] {
        do throws(CardError) {
            let readers = try PCSCReader.all()
            let driver = PIVDriver(
                memory: FileTokenMemory(directory: Directories.cache + "/tokens", recalls: options?.rescan != true))
            return readers.filter { reader in options?.reader.map { reader.name.contains($0) } ?? true }
                .map { TokenSlot(reader: $0, drivers: [driver], trace: trace) }
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
            for name in names { opened.append(try LocalKeychain.open(Directories.path(ofKeychain: name))) }
            return opened
        }
        return Directories.keychainFiles().compactMap { path in
            do throws(KeychainError) {
                return try LocalKeychain.open(path)
            } catch {
                failures.append(SearchList.Failure(keychain: path, error: error))
                return nil
            }
        }
    }
}

/// Where things are kept, by the XDG Base Directory Specification.
enum Directories {
    static var data: String { base("XDG_DATA_HOME", ".local/share") + "/tokenkit" }
    static var cache: String { base("XDG_CACHE_HOME", ".cache") + "/tokenkit" }
    static var keychains: String { data + "/keychains" }
    static let keychainSuffix = ".keychain"

    /// The socket over which a virtual card takes its orders.
    static var virtualCardSocket: String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? data
        return runtime + "/tokenkit-virtual-card.sock"
    }

    /// A name without a slash is a keychain in the folder for them; anything else is a path.
    static func path(ofKeychain name: String) -> String {
        if name.isEmpty || name.contains("/") { return name }
        return keychains + "/" + (name.hasSuffix(keychainSuffix) ? name : name + keychainSuffix)
    }

    /// The local keychains, `login` first, then by name.
    static func keychainFiles() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: keychains)) ?? []
        let login = "login" + keychainSuffix
        return names.filter { $0.hasSuffix(keychainSuffix) }
            .sorted { ($0 == login ? 0 : 1, $0) < ($1 == login ? 0 : 1, $1) }
            .map { keychains + "/" + $0 }
    }

    /// A path as people read it, with `~` for their home.
    static func abbreviated(_ path: String) -> String {
        path.hasPrefix(home + "/") ? "~" + path.dropFirst(home.count) : path
    }

    private static var home: String {
        if let path = ProcessInfo.processInfo.environment["HOME"], path.hasPrefix("/") { return path }
        guard let entry = unsafe getpwuid(getuid()) else { return "/" }
        return unsafe String(cString: entry.pointee.pw_dir)
    }

    private static func base(_ variable: String, _ standard: String) -> String {
        // A relative path in the variable is to be ignored, says the specification.
        if let path = ProcessInfo.processInfo.environment[variable], path.hasPrefix("/") { return path }
        return home + "/" + standard
    }
}
