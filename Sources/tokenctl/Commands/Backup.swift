internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization

struct BackupKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup-keychain",
        abstract: "Write a local keychain to a file that can be restored elsewhere.",
        discussion: """
            Secrets stay encrypted under the password of the keychain, which may be locked and in use. Items that are to stay \
            on this device are left out. A backup is a keychain file: keep it where only you can read it.
            """)

    @Option(name: .letter("o"), help: ArgumentHelp("The file to make.", valueName: "file"), completion: .file())
    var file: String

    @Argument(
        help: "A name, or a path with a slash in it; the default keychain if left out.",
        completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var output: OutputOptions

    private struct Report: Encodable {
        let keychain: String
        let file: String
        let items: Int
        let leftOut: Int
        let damaged: Int
    }

    func run() throws {
        let named = try NamedKeychain(file: keychain)
        let count = try named.host().backUp(named.identifier, to: file, .silent)
        guard !output.json else {
            return try Listing.showJSON(
                Report(
                    keychain: named.description.location, file: file, items: count.items, leftOut: count.leftOut,
                    damaged: count.damaged))
        }
        let name = named.description.name
        StandardOutput.line(
            localized: .plural(
                count.items, one: "\(count.items) item of '\(name)' backed up.",
                other: "\(count.items) items of '\(name)' backed up."))
        if count.leftOut > 0 {
            StandardOutput.line(
                localized: .plural(
                    count.leftOut, one: "\(count.leftOut) left out: it stays on this device.",
                    other: "\(count.leftOut) left out: they stay on this device."))
        }
        if count.damaged > 0 {
            Warnings.show(
                .plural(
                    count.damaged,
                    one:
                        "warning: \(count.damaged) left out: it has been altered since stored; an older backup may have it as stored",
                    other:
                        "warning: \(count.damaged) left out: they have been altered since stored; an older backup may have them as stored"
                ))
        }
    }
}

struct RestoreKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore-keychain",
        abstract: "Make a local keychain of a backup.",
        discussion: """
            Every item is checked first, with the password that the keychain had; a damaged backup makes no keychain.

            Where its original is gone, the keychain stands for it: references to its items, URIs and cards that open it are \
            what they were. Where the original is in the search list it becomes a keychain of its own, and so do its items.
            """)

    @Argument(help: "What backup-keychain wrote.", completion: .file())
    var backup: String

    @Argument(help: "A name, or a path with a slash in it; nothing may be there yet.")
    var keychain = "login"

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        // A file that is not there is told as for every other input.
        _ = try Input(backup)
        let session = try CommandKeychains(cards: false, files: false)
        let host = try authentication.host(session.access, for: [])
        let restored = try host.restoreKeychain(from: backup, as: keychain, password: nil, authentication.request)
        guard !output.json else { return try Listing.showJSON(KeychainRow(restored.keychain)) }
        StandardOutput.line(restored.keychain.location)
    }
}
