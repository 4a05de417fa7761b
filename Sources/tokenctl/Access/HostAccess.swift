internal import CryptokiNames
internal import Glibc
internal import HostAPI
internal import HostConnection
internal import KeychainModel
internal import Localization
internal import Platform
internal import Prompters
internal import TokenKit

/// The command's access to a host: that of the session, or else one of its own, which its first request starts.
struct HostAccess {
    private let client: SocketClient

    /// The reader that the options choose, by a part of its name or by a card's URI.
    let reader: String?

    /// All cards and files of the command's user, without the cards that the options leave out.
    ///
    /// If a reader is chosen and found, only modules that the options name are started.
    ///
    /// - Parameter groups: the access groups that are open to the command; nil for those that the user has set.
    init(_ options: CardOptions? = nil, accessGroups groups: AccessGroups? = .all) throws {
        reader = options?.reader
        // A URI may name a module that is not used.
        if let reader { _ = try PKCS11URI(argument: reader) }
        try Modules.checkNames(options)
        let names = options?.module.map { $0.contains("/") ? absolutePath($0) : $0 } ?? []
        let choice = HostOptions(
            modules: names.isEmpty ? .configured : .named(names), reader: reader,
            recalls: options?.rescan != true, waitsOnce: true, accessGroups: groups)
        client = try CommandClients.client(choice, trace: options?.trace)
    }

    /// The host for requests that ask nobody.
    var host: any KeychainService { host() }

    /// - Parameter prompter: the source of PINs and passwords; by default nobody.
    func host(asking prompter: any Prompter = NoPrompter()) -> any KeychainService {
        client.service(asking: WaitShowingPrompter(prompter: prompter))
    }

    /// Whether the programs of the session share the host, so that what is unlocked there stays so for the next command.
    var isOfSession: Bool {
        get throws(KeychainError) { try client.isOfSession }
    }

    // MARK: The user's folders

    /// The reason why rejected PINs are not remembered in memory; nil where they are.
    static var remarkOnVolatileFolder: String? { Directories.ofUser.volatileRemark }

    /// Makes the folder for sockets where neither the session nor a keychain has made one.
    static func makeFolderOfSockets() throws {
        do throws(Folder.Failure) { try Folder(path: Directories.own.runtime).makeAll() } catch {
            switch error {
            case .refused(let refusal): throw CommandError("\(refusal.reason)", advice: "\(refusal.remedy)")
            case .system(let what, let error): throw CommandError("\(what)", "\(error.reason)")
            }
        }
    }

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
