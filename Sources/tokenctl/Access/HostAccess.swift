internal import CryptokiNames
internal import HostAPI
internal import KeychainHost
internal import KeychainModel
internal import PKCS11Driver
internal import Platform
internal import Prompters
internal import StandardDrivers
internal import Synchronization
internal import TokenKit

/// The command's access to a host, which is inside its process. Only this folder knows of what a host is made.
struct HostAccess {
    private let process: ProcessKeychains

    /// The reader that the options choose, by a part of its name or by a card's URI.
    let reader: String?

    /// All cards and files of the command's user, without the cards that the options leave out.
    ///
    /// If a reader is chosen and found, only modules that the options name are started.
    init(_ options: CardOptions? = nil) throws {
        reader = options?.reader
        let choice = try options?.reader.map { try ReaderChoice($0) }
        let modules = try Modules.inUse(options)
        process = ProcessKeychains(
            recalls: options?.rescan != true, trace: try options?.trace.map { try TraceFile(path: $0) },
            waitsOnce: true, drivers: StandardDrivers.all,
            modules: {
                let isFound = choice.map { (try? !$0.readers().isEmpty) ?? false } ?? false
                return isFound && options?.module.isEmpty ?? true ? [] : modules()
            },
            leftOutModules: Modules.leftOut(options), includesToken: { choice?.includes($0) ?? true },
            readers: { () throws(CardError) in
                guard let choice else { return try PCSCReader.all() }
                return try choice.readers()
            })
    }

    /// The host for requests that ask nobody.
    var host: any KeychainService { host() }

    /// - Parameters:
    ///   - prompter: the source of PINs and passwords; by default nobody.
    ///   - groups: the access groups that are open to the command; nil for those that the user has set.
    func host(
        asking prompter: any Prompter = NoPrompter(), accessGroups groups: AccessGroups? = nil
    ) -> any KeychainService {
        KeychainHost.Host(process, accessGroups: groups ?? .configured, prompter: prompter)
            .asking(WaitShowingPrompter(prompter: prompter))
    }

    // MARK: The user's folders

    /// The reason why rejected PINs are not remembered in memory; nil where they are.
    static var remarkOnVolatileFolder: String? { Directories.ofUser.volatileRemark }

    /// Whether a file is a keychain, damaged or not.
    static func isKeychain(_ path: String) -> Bool { LocalKeychain.isKeychain(path) }

    /// Makes the folder for sockets where neither the session nor a keychain has made one.
    static func makeFolderOfSockets() throws(KeychainError) { try Directories.own.makeRuntime() }

    /// Has calls of the card service return at once where they meet another program's transaction, in the whole process.
    static func forbidBlocking() { PCSCBlocking.forbid() }

    // MARK: Prompters

    /// The prompter that asks a person.
    ///
    /// - Parameter alternative: the advice where no question can be shown.
    static func prompter(_ alternative: String) -> any Prompter {
        FirstAvailablePrompter.standard(alternative: alternative)
    }

    /// The prompter that asks nobody.
    static func silentPrompter(_ alternative: String) -> any Prompter { NoPrompter(alternative: alternative) }

    /// Shows a message on the terminal.
    static func tell(_ message: String) { TerminalPrompter().tell(message) }

    /// The reason why the pinentry that was chosen cannot be used; nil for one that can.
    static var defectOfPinentry: String? { PinentryPrompter.defectOfChoice() }
}

/// The chosen reader: one whose name contains a text, or whose card a URI names.
private final class ReaderChoice: Sendable {
    private let text: String
    private let uri: PKCS11URI?
    /// The readers of the cards that the URI names, once they are known: each card is asked for it.
    private let named = Mutex<[PCSCReader]?>(nil)

    init(_ text: String) throws {
        self.text = text
        uri = try PKCS11URI(argument: text)
    }

    /// - Throws: where the card that a URI names may be in a reader that fails.
    func readers() throws(CardError) -> [PCSCReader] {
        let all = try PCSCReader.all()
        guard let uri else { return all.filter { $0.name.contains(text) } }
        if let named = named.withLock(\.self) { return named }
        var (found, failure): ([PCSCReader], CardError?) = ([], nil)
        for reader in all {
            do throws(CardError) {
                if try ReaderChoice.card(in: reader, is: uri) { found.append(reader) }
            } catch {
                failure = failure ?? error
            }
        }
        if found.isEmpty, let failure { throw failure }
        named.withLock { [found] in $0 = found }
        return found
    }

    /// Whether a module's token is the chosen one, by its slot's name or by the URI.
    func includes(_ token: TokenKeychain) -> Bool {
        guard let uri else { return token.name.contains(text) }
        guard let identity = (try? token.identity()) ?? nil else { return false }
        return uri.matches(PKCS11URI.Place(identity, in: token.slot))
    }

    /// Whether the card in a reader is one that a URI names. The card is released again.
    ///
    /// - Throws: where another program holds it.
    private static func card(in reader: PCSCReader, is uri: PKCS11URI) throws(CardError) -> Bool {
        let slot = TokenSlot(reader: reader, drivers: StandardDrivers.all(TokenCaches(in: .ofUser)))
        defer { slot.disconnect(resetting: false) }
        do throws(TokenError) {
            return uri.matches(PKCS11URI.Place(try slot.identity(), in: slot))
        } catch {
            if error.code == .card(.inUse) { throw CardError(.inUse, error.reason) }
            return false
        }
    }
}

extension PKCS11URI.Place {
    /// A card as the module of this package shows it, or a token as its own module does.
    fileprivate init(_ identity: TokenIdentity, in slot: any TokenBackend) {
        let isForeign = identity.id.driver == PKCS11Module.driver
        self.init(
            PKCS11URI.Token(identity), slot: PKCS11URI.Slot(slot.cryptokiName), library: isForeign ? nil : .own)
    }
}
