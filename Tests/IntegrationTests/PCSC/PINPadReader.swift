import Foundation
import TestSupport
import Testing

/// A reader with its own keypad, in front of a virtual card: sets what is typed, and counts the requests.
final class PINPadReader: Sendable {
    let driver: PrivatePCSCD.ReaderDriver
    private let folder: TemporaryFolder

    /// Compiles its driver.
    init() throws {
        folder = try TemporaryFolder()
        let library = folder.path("pinpad.so")
        let source = Program.packageRoot.path + "/Tests/ReaderDrivers/pinpad.c"
        let result = try Program.run([
            "clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I/usr/include/PCSC", source,
            "-ldl",
            "-o", library,
        ])
        try #require(result.status == 0, "\(result)")
        driver = .init(path: library, environment: ["PINPAD_KEYS": folder.path("keys")])
    }

    /// Sets what is typed from now on: digits, `cancel`, or `break` for a reader that fails; nil for nothing.
    func type(_ text: String?) throws {
        if let text {
            try folder.write("keys", text + "\n")
        } else {
            try FileManager.default.removeItem(atPath: folder.path("keys"))
        }
    }

    /// The number of PINs typed since the last call. Checks that every request was correct.
    func timesAsked(at location: SourceLocation = #_sourceLocation) throws -> Int {
        guard FileManager.default.fileExists(atPath: folder.path("keys.log")) else { return 0 }
        let lines = String(decoding: try folder.read("keys.log"), as: UTF8.self).split(separator: "\n")
        try folder.write("keys.log", "")
        #expect(lines.allSatisfy { $0 == "typed" }, "\(lines)", sourceLocation: location)
        return lines.count
    }
}
