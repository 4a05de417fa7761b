import Foundation
import TestSupport

/// The environment of a terminal session: its own folder and, on request, a pcscd with a virtual card in its reader.
///
///     @reader                   a pcscd with an empty reader
///     @card PROFILE OPTIONS…    a pcscd, and in its reader a card that virtual-card create made with these
///     @folder NAME OPTIONS…     the same, with the card that the folder NAME of the test cards holds
final class Stage {
    let folder: TemporaryFolder
    let environment: [String: String]
    private let daemon: PrivatePCSCD?
    private var card: ChildProcess?

    struct CardNeverSeen: Error {}

    init(_ lines: [[String]]) throws {
        folder = try TemporaryFolder()
        daemon = try lines.isEmpty ? nil : PrivatePCSCD()
        let (root, home) = (folder.path, folder.path("home"))
        environment = [
            "HOME": home, "XDG_DATA_HOME": home + "/data", "XDG_CACHE_HOME": home + "/cache", "XDG_RUNTIME_DIR": root,
            "XDG_CONFIG_HOME": home + "/.config", "TOKENKIT_MODULES": "",
            "PCSCLITE_CSOCK_NAME": daemon?.socketPath ?? root + "/nothing", "PINENTRY_PROGRAM": "/bin/false",
            "PATH": Program.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? ""),
            "BASH_ENV": Stage.scripts + "/helpers.sh", "ROOT": Program.packageRoot.path(), "TZ": "UTC",
        ]
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        try PasswordCost.lower(in: home + "/.config")
        for line in lines { try set(line) }
    }

    deinit {
        guard let card else { return }
        kill(card.identifier, SIGTERM)
        card.wait()
    }

    /// Runs a line of bash.
    func run(_ command: String) throws -> ProgramResult {
        try Program.run(
            ["bash", "-c", "cd '\(folder.path)' || exit\n\(command)"], environment: environment, timeout: 300)
    }

    private func set(_ words: [String]) throws {
        guard let kind = words.first, let daemon, kind != "reader" else { return }
        var options = Array(words.dropFirst())
        if kind == "folder", let name = options.first {
            options = ["--from", try CardFolders.path(name)] + options.dropFirst()
        } else if let profile = options.first {
            options = ["--profile", profile] + options.dropFirst()
        }
        let file = folder.path("card")
        let made = try Program.run([Program.command, "virtual-card", "create", file] + options)
        guard made.status == 0 else { throw CardNeverSeen() }
        let log = open(folder.path("card.log"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        card = try ChildProcess(
            daemon.command(entering: [Program.command, "virtual-card", "run", file]), environment: environment,
            streams: [log, log, log])
        guard try run("await_card").status == 0 else { throw CardNeverSeen() }
    }

    static let scripts = Program.packageRoot.appending(path: "Tests/TokenctlTests/Scripts").path()
}
