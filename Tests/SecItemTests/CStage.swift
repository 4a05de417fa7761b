import Foundation
import TestSupport
import Testing

/// A home for C programs that use the shared library, compiled and run as their authors do it.
struct CStage {
    let folder: TemporaryFolder
    var environment: [String: String] {
        var variables = ["LD_LIBRARY_PATH": folder.path, "PINENTRY_PROGRAM": "/nonexistent"]
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            variables[name] = folder.path
        }
        return variables
    }

    init() throws {
        folder = try TemporaryFolder()
        try PasswordCost.lower(in: folder.path)
        // Programs ask for the library by its version, which the file has only once it is installed.
        let library = Program.products + "/libtokenkit-keychain.so"
        for name in ["libtokenkit-keychain.so", "libtokenkit-keychain.so.1"] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: library)
        }
    }

    func compile(_ source: String, to name: String) throws -> String {
        let program = folder.path(name)
        let include = Program.packageRoot.path + "/Sources/CSecKeychain/include"
        let result = try Program.run(
            ["clang", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, source, "-L", folder.path]
                + ["-ltokenkit-keychain", "-lpthread", "-o", program] + sanitizers())
        try #require(result.status == 0, "\(result)")
        return program
    }

    /// A library that was built with a sanitizer needs programs that are built with it as well.
    private func sanitizers() throws -> [String] {
        let symbols = try Program.run(["nm", "--dynamic", "--undefined-only", folder.path("libtokenkit-keychain.so")])
        let needed = ["address", "thread"].filter { symbols.text.contains("__\($0.prefix(1))san_init") }
        let flags = needed.map { "-fsanitize=\($0)" }
        return needed == ["thread"] ? flags + (try dispatch()) : flags
    }

    /// The libraries that the thread sanitizer of Swift's clang calls.
    private func dispatch() throws -> [String] {
        let description = try Program.run(["swift", "-print-target-info"]).text
        let target = try JSONDecoder().decode(Toolchain.self, from: Data(description.utf8))
        return target.paths.runtimeLibraryPaths.flatMap { ["-L", $0, "-Wl,-rpath,\($0)"] }
            + ["-ldispatch", "-lBlocksRuntime"]
    }

    private struct Toolchain: Decodable {
        struct Paths: Decodable {
            let runtimeLibraryPaths: [String]
        }
        let paths: Paths
    }

    /// Has programs load a copy of the library, with another host beside it.
    ///
    /// - Parameter host: a script.
    func replaceLibrary(withCopyBeside host: String) throws {
        let files = FileManager.default
        for name in ["libtokenkit-keychain.so", "libtokenkit-keychain.so.1"] {
            try files.removeItem(atPath: folder.path(name))
        }
        try files.copyItem(
            atPath: Program.products + "/libtokenkit-keychain.so", toPath: folder.path("libtokenkit-keychain.so"))
        try files.createSymbolicLink(
            atPath: folder.path("libtokenkit-keychain.so.1"),
            withDestinationPath: folder.path("libtokenkit-keychain.so"))
        // Written by another process: a child of this one that is started meanwhile may keep the file open, which cannot be run then.
        let written = try Program.run([
            "sh", "-c", "printf '%s' \"$1\" >\"$2\" && chmod 700 \"$2\"", "sh", host, folder.path("tokenkitd"),
        ])
        try #require(written.status == 0, "\(written)")
    }

    /// The processes of the hosts that programs of this home have started for themselves.
    var hosts: [Int32] {
        let files = FileManager.default
        func text(_ path: String) -> String { String(decoding: files.contents(atPath: path) ?? Data(), as: UTF8.self) }
        return ((try? files.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap(Int32.init).filter { process in
            text("/proc/\(process)/cmdline").contains("tokenkitd\0--private")
                && text("/proc/\(process)/environ").contains("HOME=\(folder.path)\0")
        }
    }

    /// - Parameters:
    ///   - headers: further headers that the source needs.
    ///   - functions: functions before `main`.
    func run(
        _ source: String, _ environment: [String: String]? = nil, including headers: [String] = [],
        declaring functions: String = ""
    ) throws -> ProgramResult {
        let file = folder.path("test.c")
        let text = """
            \(headers.map { "#include <\($0)>" }.joined(separator: "\n"))
            #include <SecKeychain.h>
            #include <assert.h>
            #include <stdio.h>
            #include <string.h>
            __attribute__((unused)) static SecKeychainRef fresh(const char *path) {
                SecKeychainRef keychain = NULL;
                assert(SecKeychainCreate(path, 4, "open", 0, NULL, &keychain) == errSecSuccess);
                return keychain;
            }
            \(functions)
            int main(void) {
            \(source)
                return 0;
            }
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try Program.run([compile(file, to: "test")], environment: environment ?? self.environment)
    }
}
