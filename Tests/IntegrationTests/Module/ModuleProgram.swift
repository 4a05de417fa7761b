import Foundation
import TestSupport
import Testing

/// A program in C that loads the module as others do, from its file.
enum ModuleProgram {
    static let module = Program.products + "/libtokenkit-pkcs11.so"

    /// Compiles it, and returns where it is.
    static func compile(
        _ name: String, of place: String = "ModulePrograms", _ options: [String] = [], in folder: TemporaryFolder
    ) throws -> String {
        let root = Program.packageRoot.path
        let program = folder.path(name)
        let symbols = try Program.run(["nm", "--dynamic", "--undefined-only", module])
        let result = try Program.run(
            ["clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", root + "/Sources/CCryptoki/include"]
                + (symbols.text.contains("__asan_init") ? ["-fsanitize=address"] : [])
                + options + [root + "/Tests/\(place)/\(name).c", "-ldl", "-lpthread", "-o", program])
        try #require(result.status == 0, "\(result)")
        return program
    }

    /// Every place where the module looks for what is a user's.
    static func environment(in folder: TemporaryFolder) -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            variables[name] = folder.path
        }
        return variables
    }

    /// Makes a keychain with the password "open".
    static func createKeychain(in folder: TemporaryFolder, _ environment: [String: String]) throws {
        let create = "umask 077; cd '\(folder.path)' && echo open >password && exec '\(Program.products)/tokenctl' "
        let made = try Program.run(
            ["sh", "-c", create + "create-keychain --pin-source file:password"], environment: environment)
        try #require(made.status == 0, "\(made)")
    }
}
