import Foundation

/// SoftHSM with a token `soft`, whose PIN is 123456.
public final class SoftHSM: Sendable {
    public static let path = "/usr/lib/softhsm/libsofthsm2.so"

    public let folder: TemporaryFolder
    private let settings: String

    public struct NotMade: Error {
        let result: ProgramResult

        public init(result: ProgramResult) {
            self.result = result
        }
    }

    /// - Parameter objects: runs of pkcs11-tool, each as its arguments after those for the module and the login.
    public init(_ objects: [[String]] = []) throws {
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("tokens"), withIntermediateDirectories: false)
        settings = try folder.write(
            "softhsm2.conf",
            "directories.tokendir = \(folder.path("tokens"))\nobjectstore.backend = file\nlog.level = ERROR\n")
        try run([
            "softhsm2-util", "--init-token", "--free", "--label", "soft", "--pin", "123456", "--so-pin", "12345678",
        ])
        for object in objects {
            try run(["pkcs11-tool", "--module", SoftHSM.path, "--login", "--pin", "123456"] + object)
        }
    }

    /// The processes in which hosts run the module with the token.
    public var workers: [Int32] {
        get throws {
            let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
            return processes.filter { process in
                let path = "/proc/\(process)/"
                let command = (try? Data(contentsOf: URL(filePath: path + "cmdline"))) ?? Data()
                let variables = (try? Data(contentsOf: URL(filePath: path + "environ"))) ?? Data()
                return String(decoding: command, as: UTF8.self).contains("--serve-module")
                    && String(decoding: variables, as: UTF8.self).contains(settings)
            }
        }
    }

    /// The environment variables that lead programs to the token.
    public var environment: [String] { ["SOFTHSM2_CONF=\(settings)"] }

    /// Runs a program that uses the token.
    @discardableResult
    public func run(_ command: [String]) throws -> ProgramResult {
        let result = try Program.run(["env"] + environment + command)
        guard result.status == 0 else { throw NotMade(result: result) }
        return result
    }
}
