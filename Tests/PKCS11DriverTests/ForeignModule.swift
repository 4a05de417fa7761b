import Foundation
import PKCS11Driver
import SystemCrypto
import TestSupport
import TokenKit

/// A module to load: one of the tests' own, that behaves in a way of its own, or SoftHSM's with a token in it.
final class ForeignModule: Sendable {
    let folder: TemporaryFolder
    let path: String
    private let environment: [String]

    struct NotMade: Error {
        let result: ProgramResult
    }

    /// A module of one token, one certificate and its key.
    init(behaving behaviour: String) throws {
        folder = try TemporaryFolder()
        path = folder.path("misbehaving.so")
        environment = []
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let builder = try CertificateBuilder(
            commonName: "Of a module", publicKey: key.publicKey, notBefore: 0, notAfter: 4_000_000_000)
        try folder.write("certificate", builder.selfSigned(by: key).der)
        let root = Program.packageRoot.path
        let result = try Program.run(
            [
                "clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I",
                root + "/Sources/CCryptoki/include", "-DBEHAVIOUR=\"\(behaviour)\"",
                "-DCERTIFICATE=\"\(folder.path("certificate"))\"", root + "/Tests/ModulePrograms/misbehaving.c", "-o",
                path,
            ])
        guard result.status == 0 else { throw NotMade(result: result) }
    }

    /// SoftHSM with a token `soft`, whose PIN is 123456.
    ///
    /// - Parameter objects: runs of pkcs11-tool, by what comes after its options for the module and the login.
    init(softHSM objects: [[String]] = []) throws {
        folder = try TemporaryFolder()
        path = "/usr/lib/softhsm/libsofthsm2.so"
        try FileManager.default.createDirectory(atPath: folder.path("tokens"), withIntermediateDirectories: false)
        let settings = try folder.write(
            "softhsm2.conf",
            "directories.tokendir = \(folder.path("tokens"))\nobjectstore.backend = file\nlog.level = ERROR\n")
        environment = ["SOFTHSM2_CONF=\(settings)"]
        try run([
            "softhsm2-util", "--init-token", "--free", "--label", "soft", "--pin", "123456", "--so-pin", "12345678",
        ])
        for object in objects {
            try run(["pkcs11-tool", "--module", path, "--login", "--pin", "123456"] + object)
        }
    }

    /// Runs a program that uses the token.
    @discardableResult
    func run(_ command: [String]) throws -> ProgramResult {
        let result = try Program.run(["env"] + environment + command)
        guard result.status == 0 else { throw NotMade(result: result) }
        return result
    }

    /// Runs `body` with modules of these behaviours, each behind a worker of its own.
    static func with(
        _ behaviours: [String], _ patience: WorkerPatience = WorkerPatience(), _ body: ([PKCS11Module]) throws -> Void
    ) throws {
        let modules = try behaviours.map { try ForeignModule(behaving: $0) }
        try withExtendedLifetime(modules) { try body(modules.map { $0.loaded(patience) }) }
    }

    /// The module as this program's own part sees it, behind a worker of its own.
    func loaded(_ patience: WorkerPatience = WorkerPatience()) -> PKCS11Module {
        let worker = WorkerProgram(
            path: "/usr/bin/env",
            arguments: ["env"] + environment + [Program.products + "/tokenctl", "--serve-module"])
        return PKCS11Module(ConfiguredModule(path: path), worker: worker, patience: patience)
    }
}
