import Foundation
import ModuleConfiguration
import PKCS11Driver
import SystemCrypto
import TestSupport
import Testing
import TokenKit

/// A module to load: misbehaving.c with one of its behaviours, or SoftHSM's with a token.
final class ForeignModule: Sendable {
    let folder: TemporaryFolder
    let path: String
    private let softHSM: SoftHSM?

    /// A module of one token, one certificate and its key.
    init(behaving behaviour: String) throws {
        folder = try TemporaryFolder()
        path = folder.path("misbehaving.so")
        softHSM = nil
        let key = try PrivateKey.generate(.rsa(bits: 2048))
        let builder = try CertificateBuilder(
            commonName: "Of a module", publicKey: key.publicKey, notBefore: 0, notAfter: 4_000_000_000)
        try folder.write("certificate", builder.selfSigned(by: key).der)
        try ForeignModule.compile(
            "misbehaving.c", to: path, ["BEHAVIOUR": behaviour, "CERTIFICATE": folder.path("certificate")])
    }

    private static func compile(_ source: String, to path: String, _ strings: [String: String]) throws {
        let root = Program.packageRoot.path
        let result = try Program.run(
            ["clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"]
                + [root + "/Sources/CCryptoki/include"] + strings.map { "-D\($0)=\"\($1)\"" }
                + [root + "/Tests/ModulePrograms/" + source, "-o", path])
        guard result.status == 0 else { throw SoftHSM.NotMade(result: result) }
    }

    /// SoftHSM with a token `soft`, whose PIN is 123456.
    ///
    /// - Parameter objects: runs of pkcs11-tool, each as its arguments after those for the module and the login.
    /// - Parameter hasRawRSA: whether the token offers raw RSA, as SoftHSM's tokens do.
    init(softHSM objects: [[String]] = [], hasRawRSA: Bool = true) throws {
        let softHSM = try SoftHSM(objects)
        self.softHSM = softHSM
        folder = softHSM.folder
        path = hasRawRSA ? SoftHSM.path : folder.path("without-raw-rsa.so")
        if !hasRawRSA { try ForeignModule.compile("without-raw-rsa.c", to: path, ["BEHIND": SoftHSM.path]) }
    }

    /// Runs a program that uses SoftHSM's token.
    @discardableResult
    func run(_ command: [String]) throws -> ProgramResult { try #require(softHSM).run(command) }

    /// Runs `body` with modules of these behaviours, each behind a worker of its own.
    static func with(
        _ behaviours: [String], _ patience: WorkerPatience = WorkerPatience(), _ body: ([PKCS11Module]) throws -> Void
    ) throws {
        let modules = try behaviours.map { try ForeignModule(behaving: $0) }
        try withExtendedLifetime(modules) { try body(modules.map { $0.loaded(patience) }) }
    }

    /// The command that starts `tokenkitd` as the worker of a program.
    static func worker(for program: String) -> [String] {
        let worker = WorkerProgram.tokenkitd(at: Program.host, for: program)
        return [worker.path] + worker.arguments.dropFirst()
    }

    /// The module as this process uses it, behind its own worker.
    func loaded(_ patience: WorkerPatience = WorkerPatience()) -> PKCS11Module {
        let worker = WorkerProgram(
            path: "/usr/bin/env",
            arguments: ["env"] + (softHSM?.environment ?? []) + ForeignModule.worker(for: "tokenctl"))
        return PKCS11Module(ConfiguredModule(path: path), worker: worker, patience: patience)
    }
}
