import Foundation
import Synchronization
import TestSupport
import Testing

/// A C program that loads the module from its file, as other programs do.
enum ModuleProgram {
    static let module = Program.module

    /// Copies the module, with the host that it starts beside it, as it was built.
    static func copy(to path: String) throws {
        try FileManager.default.copyItem(atPath: module, toPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let host = URL(filePath: path).deletingLastPathComponent().appending(path: "tokenkitd").path
        try FileManager.default.createSymbolicLink(
            atPath: host, withDestinationPath: Program.host)
    }

    /// Compiles a program, and returns its path.
    ///
    /// - Parameter libraries: the options of the libraries that it needs besides those of all.
    static func compile(
        _ name: String, of place: String = "ModulePrograms", _ options: [String] = [], libraries: [String] = [],
        in folder: TemporaryFolder
    ) throws -> String {
        let root = Program.packageRoot.path
        let program = folder.path(name)
        let symbols = try Program.run(["nm", "--dynamic", "--undefined-only", module])
        let result = try Program.run(
            ["clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", root + "/Sources/CCryptoki/include"]
                + (symbols.text.contains("__asan_init") ? ["-fsanitize=address"] : [])
                + options + [root + "/Tests/\(place)/\(name).c"] + libraries
                + ["-ldl", "-lpthread", "-o", program])
        try #require(result.status == 0, "\(result)")
        return program
    }

    /// Runs a program in the folder, as a client of the service at an address.
    ///
    /// - Parameter grant: does what the program asks for by a name. If it throws, it is called again.
    static func run(
        _ program: String, _ arguments: [String] = [], in folder: TemporaryFolder, service: String,
        _ variables: [String: String] = [:], input: [UInt8] = [], timeout: Double = 120,
        granting grant: @escaping @Sendable (String) throws -> Void = { _ in }
    ) throws -> ProgramResult {
        let attendant = Attendant(of: folder.path("wish"), grant)
        defer { attendant.dismiss() }
        var environment = environment(in: folder).merging(variables) { $1 }
        environment["PCSCLITE_CSOCK_NAME"] = service
        let words = ([program, module] + arguments).map { "'\($0)'" }.joined(separator: " ")
        return try Program.run(
            ["sh", "-c", "cd '\(folder.path)' && exec \(words)"], environment: environment, input: input,
            timeout: timeout)
    }

    /// Carries out the requests that a program writes into a file, and removes the file after each.
    private final class Attendant: Sendable {
        private let isDismissed = Atomic(false)
        private let isGone = DispatchSemaphore(value: 0)

        init(of wish: String, _ grant: @escaping @Sendable (String) throws -> Void) {
            Thread { [self] in
                while !isDismissed.load(ordering: .relaxed) {
                    if let name = try? String(contentsOfFile: wish, encoding: .utf8), (try? grant(name)) != nil {
                        unlink(wish)
                    }
                    usleep(10_000)
                }
                isGone.signal()
            }.start()
        }

        func dismiss() {
            isDismissed.store(true, ordering: .relaxed)
            isGone.wait()
        }
    }

    /// The variables for every folder in which the module looks for a user's files.
    static func environment(in folder: TemporaryFolder) -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            variables[name] = folder.path
        }
        return variables
    }

    /// Makes a keychain.
    static func createKeychain(
        in folder: TemporaryFolder, _ environment: [String: String], password: String = "open"
    ) throws {
        if let configuration = environment["XDG_CONFIG_HOME"] { try PasswordCost.lower(in: configuration) }
        let file = "umask 077; cd '\(folder.path)' && echo \(password) >password"
        let create = "exec '\(Program.command)' create-keychain --pin-source file:password"
        let made = try Program.run(["sh", "-c", "\(file) && \(create)"], environment: environment)
        try #require(made.status == 0, "\(made)")
    }
}
