import Foundation
import TestSupport
import Testing

/// Programs with other rights than the user who starts them use neither the keychains nor the settings of that user.
@Suite struct KeychainsOfOthersTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let caller: uid_t = 65_533

    init() throws {
        folder = try TemporaryFolder()
        environment = ModuleProgram.environment(in: folder).merging(["PCSCLITE_CSOCK_NAME": folder.path("none")]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
    }

    /// The command as started by another user, who owns everything that the environment names.
    private func asCaller(_ command: [String]) throws -> [String] {
        guard geteuid() == 0 else { return command }
        let given = try Program.run(["chown", "-R", "\(caller):\(caller)", folder.path])
        try #require(given.status == 0, "\(given)")
        return ["setpriv", "--reuid", "\(caller)", "--regid", "\(caller)", "--clear-groups"] + command
    }

    @Test func aProgramWithMoreRightsDoesNotListTheKeychainsOfItsCaller() throws {
        let own = try TemporaryFolder()
        let program = try ProgramWithMoreRights(in: own)
        let plain = own.path("plain")
        try ProgramWithMoreRights.copyCommand(to: plain)
        let list = ["list-keychains", "-d", "user"]
        let listed = try Program.run(asCaller([plain] + list), environment: environment)
        #expect(listed.status == 0 && listed.text.contains(folder.path), "\(listed)")
        let result = try Program.run(asCaller([program.path] + list), environment: environment)
        #expect(result.status == 0 && !result.text.contains(folder.path), "\(result)")
    }

    @Test func aProgramOfAnotherUserRefusesTheKeychainThatItsCallerNames() throws {
        let own = try TemporaryFolder()
        let program = try ProgramWithMoreRights(in: own)
        let found = try Program.run(["find", folder.path, "-name", "*.keychain"])
        let keychain = try #require(found.text.split(separator: "\n").first.map(String.init))
        // The folders are open to all, so that the refusal is because of the owner.
        let opened = try Program.run(["find", folder.path, "-type", "d", "-exec", "chmod", "755", "{}", "+"])
        try #require(opened.status == 0, "\(opened)")
        let result = try Program.run(asCaller([program.path, "dump-keychain", keychain]), environment: environment)
        // A setgid program has its caller's rights in addition to those of a group.
        guard geteuid() == 0 else {
            #expect(result.status == 0, "\(result)")
            return
        }
        #expect(result.status != 0 && "\(result)".contains("belongs to the user with number \(caller)"), "\(result)")
    }

    /// The program runs as with `sudo -E`, or with a `sudo` that keeps `HOME`.
    @Test func rootWithTheHomeOfAUserWritesNothingThereAndSaysWhatToDo() throws {
        let home = folder.path("home-of-a-user")
        var (asRoot, owned) = ([String](), home)
        if geteuid() == 0 {
            #expect(mkdir(home, 0o755) == 0 && chown(home, caller, caller) == 0)
        } else {
            // In a namespace without the real root, root's files belong to another user.
            (asRoot, owned) = (["unshare", "--user", "--map-root-user"], "/usr")
        }
        var variables = environment.filter { !$0.key.hasPrefix("XDG_") }
        variables["HOME"] = owned
        for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] { variables[name] = "" }
        try folder.write("password", "correct\n")
        chmod(folder.path("password"), 0o600)
        let result = try Program.run(
            asRoot + [
                Program.command, "create-keychain", "new", "--pin-source",
                "file:\(folder.path("password"))",
            ], environment: variables)
        #expect(result.status != 0 && "\(result)".contains("belongs to"), "\(result)")
        if geteuid() == 0 {
            #expect("\(result)".contains("sudo -H"), "\(result)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
        }
    }
}
