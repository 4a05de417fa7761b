import Foundation

/// The cost of guesses at passwords of keychains.
public enum PasswordCost {
    /// Has each guess cost the least that there is, in a user's home: otherwise guesses are much of the time that tests of programs take.
    ///
    /// - Parameter configuration: the home's `XDG_CONFIG_HOME`, which need not be there.
    public static func lower(in configuration: String) throws {
        let folder = configuration + "/tokenkit"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = folder + "/keychains.conf"
        guard !FileManager.default.fileExists(atPath: file) else { return }
        try Data("password-cost = 16\n".utf8).write(to: URL(filePath: file))
        chmod(file, 0o600)
    }
}
