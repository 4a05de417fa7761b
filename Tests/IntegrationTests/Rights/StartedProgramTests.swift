import Foundation
import TestSupport
import Testing

/// The environment and descriptors of programs that this package starts, and the choice of these programs.
@Suite struct StartedProgramTests {
    private let folder: TemporaryFolder
    private let environment: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": folder.path("none"), "SECRET": "in-the-environment",
        ]) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment)
    }

    /// A program that only records its environment and descriptors.
    private func spy(_ name: String) throws -> String {
        let script = """
            #!/bin/sh
            { env; ls -l /proc/$$/fd; } >'\(folder.path("seen"))' 2>&1
            """
        try folder.write(name, Array(script.utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path(name))
        return folder.path(name)
    }

    private var whatWasSeen: String? {
        FileManager.default.contents(atPath: folder.path("seen")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Runs the command with a descriptor for a file with a secret open, as `--pin-source fd:9` has it.
    private func run(_ program: String, _ arguments: String, _ variables: [String: String] = [:]) throws
        -> ProgramResult
    {
        try folder.write("secret", Array("in-the-file\n".utf8))
        let assignments = variables.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
        return try Program.run(
            [
                "sh", "-c",
                "exec 9<'\(folder.path("secret"))'; \(assignments.isEmpty ? "" : "export \(assignments);") exec '\(program)' \(arguments)",
            ], environment: environment)
    }

    @Test func pinentryHasNeitherSecretsOfTheEnvironmentNorDescriptors() throws {
        let result = try run(
            Program.command, "set-keychain-settings -t 60", ["PINENTRY_PROGRAM": spy("pinentry"), "LC_TEST": "kept"])
        #expect(result.status != 0)
        let seen = try #require(whatWasSeen, "\(result)")
        #expect(seen.contains("LC_TEST=kept"))
        #expect(!seen.contains("in-the-environment") && !seen.contains("/secret"), "\(seen)")
    }

    @Test func modulesHaveNeitherTheVariableNorTheDescriptorOfThePIN() throws {
        let source = """
            #include <stdlib.h>
            __attribute__((constructor)) static void look(void) {
                if (system("{ cat /proc/$PPID/environ | tr '\\\\0' '\\\\n'; ls -l /proc/$PPID/fd; } >'\(folder.path("seen"))' 2>&1")) return;
            }
            """
        try folder.write("spy.c", Array(source.utf8))
        let made = try Program.run(
            ["clang", "-shared", "-fPIC", folder.path("spy.c"), "-o", folder.path("spy.so")])
        try #require(made.status == 0, "\(made)")
        _ = try run(
            Program.command, "sign --key none --pin-source env:SECRET /dev/null",
            ["TOKENKIT_MODULES": folder.path("spy.so"), "OF_THE_MODULE": "kept"])
        let seen = try #require(whatWasSeen)
        #expect(seen.contains("OF_THE_MODULE=kept"))
        #expect(!seen.contains("in-the-environment") && !seen.contains("/secret"), "\(seen)")
    }

    /// The caller of a setuid program chooses neither the program that asks for secrets nor its path.
    @Test func aProgramWithMoreRightsStartsNothingOfItsCallers() throws {
        let program = try ProgramWithMoreRights(in: folder)
        let asked = try run(
            program.path, "set-keychain-settings -t 60 '\(program.keychain(environment))'",
            ["PINENTRY_PROGRAM": spy("pinentry"), "PATH": folder.path, "DISPLAY": ":0"])
        #expect(asked.status != 0)
        #expect(whatWasSeen == nil, "\(asked)")
        #expect("\(asked)".contains("more rights"), "\(asked)")
    }
}

/// The command with the rights of another user: as a setuid program, or as a setgid program where root's rights are missing.
struct ProgramWithMoreRights {
    let path: String
    private let folder: TemporaryFolder
    private let user: uid_t

    init(in folder: TemporaryFolder) throws {
        self.folder = folder
        path = folder.path("tokenctl")
        user = geteuid() == 0 ? 65_534 : geteuid()
        try ProgramWithMoreRights.copyCommand(to: path)
        try #require(chmod(folder.path, 0o755) == 0)
        if geteuid() == 0 {
            try #require(chown(path, user, 65_534) == 0 && chmod(path, 0o4755) == 0)
        } else {
            var groups = [gid_t](repeating: 0, count: 64)
            let count = getgroups(64, &groups)
            let other = groups.prefix(Int(max(count, 0))).first { $0 != getgid() }
            try #require(
                chown(path, user, #require(other, "the user is in one group alone")) == 0 && chmod(path, 0o2755) == 0)
        }
    }

    /// Copies the command, and the host into the same folder, in another process: a file that is open for writing cannot be executed, and a child that another thread
    /// has forked could still have this process's descriptor of it.
    static func copyCommand(to path: String) throws {
        let host = URL(filePath: path).deletingLastPathComponent().path() + "tokenkitd"
        for (program, path) in [(Program.command, path), (Program.host, host)] {
            let copied = try Program.run(["install", "-m", "755", program, path])
            try #require(copied.status == 0, "\(copied)")
        }
    }

    /// A keychain that belongs to the user whose rights the program has.
    func keychain(_ environment: [String: String]) throws -> String {
        let place = folder.path("of-program")
        let file = place + "/own.keychain"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let made = try Program.run(
            [
                "sh", "-c",
                "umask 077; exec '\(Program.command)' create-keychain '\(file)' --pin-source 'file:\(folder.path("password"))'",
            ],
            environment: environment)
        try #require(made.status == 0, "\(made)")
        let given = try Program.run(["chown", "-R", "\(user)", place])
        try #require(given.status == 0, "\(given)")
        return file
    }
}
