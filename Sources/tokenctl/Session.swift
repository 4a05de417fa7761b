internal import KeychainHost
internal import PIVDriver
internal import PKCS11Driver
internal import TokenKit

/// What a run of the command works with.
typealias Session = PresentKeychains

extension PresentKeychains {
    /// - Parameters:
    ///   - names: files or names of local keychains to use instead of all.
    ///   - cards: whether cards are used.
    ///   - locals: whether local keychains are used.
    init(
        _ options: CardOptions? = nil, keychains names: [String] = [], cards: Bool = true, locals: Bool = true
    ) throws {
        let process = try ProcessKeychains(options)
        let paths = names.map { Directories.own.path(ofKeychain: KeychainName.normalized($0)) }
        self = try process.present(paths, cards: cards, locals: locals)
    }

    /// The items or keys of a search, its failures reported on standard error.
    func reporting<Element>(_ result: SearchList.Result<Element>) -> [Element] {
        let others = failures.filter { !result.failures.contains($0) }
        for failure in others + result.failures { printError("\(failure.keychain): \(failure.error)") }
        return result.found
    }
}

extension ProcessKeychains {
    /// Those of whoever runs the command, without the cards that the options leave out.
    convenience init(_ options: CardOptions? = nil) throws {
        self.init(
            .own, recalls: options?.rescan != true, trace: try options?.trace.map { try TraceFile(path: $0) },
            drivers: CardDrivers.all, modules: try Modules.inUse(options),
            readers: { [part = options?.reader] () throws(CardError) in
                try PCSCReader.all().filter { reader in part.map { reader.name.contains($0) } ?? true }
            })
    }
}

/// The drivers of cards that this program has.
enum CardDrivers {
    static func all(_ caches: TokenCaches) -> [any TokenDriver] {
        [PIVDriver(memory: caches.tokens, certificates: caches.certificates, rejectedPINs: caches.rejectedPINs)]
    }

    static let names = all(TokenCaches(in: .own)).map(\.name)
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
