import Foundation
import TestSupport
import Testing
import VirtualCard

/// A virtual card behind a private pcscd, and a folder for what foreign programs read and write about it.
final class ClientCard: Sendable {
    let holder: DaemonWithCard
    let folder: TemporaryFolder

    static let message = Array("what is to be signed\n".utf8)

    init(_ profile: CardProfile, reader: String = "Virtual PCD") throws {
        folder = try TemporaryFolder()
        holder = try DaemonWithCard(VirtualCard(profile: profile), reader: reader)
        try folder.write("message", Self.message)
        try openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=Issuer",
            "-keyout", folder.path("ca.key"), "-out", folder.path("ca.pem"),
        ])
    }

    /// Runs a program that has to succeed, and returns both its streams as text.
    @discardableResult
    func succeed(_ command: [String], input: [UInt8] = [], at location: SourceLocation = #_sourceLocation) throws
        -> String
    {
        let result = try holder.run(command, input: input)
        #expect(result.status == 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.description
    }

    /// Runs a program that has to fail, and returns both its streams as text.
    @discardableResult
    func fail(_ command: [String], at location: SourceLocation = #_sourceLocation) throws -> String {
        let result = try holder.run(command)
        #expect(result.status > 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.description
    }

    // MARK: - Checks by OpenSSL

    /// Runs `openssl`, which has to succeed.
    @discardableResult
    func openssl(_ arguments: [String], at location: SourceLocation = #_sourceLocation) throws -> String {
        let result = try Program.run(["openssl"] + arguments)
        #expect(result.status == 0, "openssl \(arguments.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.description
    }

    /// Issues a certificate for the public key in a file, and returns the certificate's file.
    func certificate(for publicKey: String, named name: String) throws -> String {
        let (request, certificate) = (folder.path("\(name).csr"), folder.path("\(name).pem"))
        try openssl(["req", "-new", "-key", folder.path("ca.key"), "-subj", "/CN=\(name)", "-out", request])
        try openssl([
            "x509", "-req", "-in", request, "-force_pubkey", publicKey, "-CA", folder.path("ca.pem"), "-CAkey",
            folder.path("ca.key"), "-days", "30", "-out", certificate,
        ])
        return certificate
    }

    /// Checks a signature over the message, with whatever options the padding needs.
    func expectSignature(
        _ signature: String, by publicKey: String, digest: String = "SHA256", _ options: [String] = [],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let answer = try openssl(
            ["dgst", "-\(digest)", "-verify", publicKey] + options
                + ["-signature", folder.path(signature), folder.path("message")], at: location)
        #expect(answer.contains("Verified OK"), sourceLocation: location)
    }

    /// Encrypts the message to an RSA key and returns the file.
    func encrypt(to publicKey: String, _ options: [String] = []) throws -> String {
        let encrypted = folder.path("encrypted")
        try openssl(
            ["pkeyutl", "-encrypt", "-pubin", "-inkey", publicKey, "-in", folder.path("message"), "-out", encrypted]
                + options)
        return encrypted
    }

    // MARK: - PKCS#11

    /// Runs `pkcs11-tool` with a module and these arguments.
    func pkcs11(_ module: PKCS11Module, _ arguments: [String], at location: SourceLocation = #_sourceLocation) throws
        -> String
    {
        try succeed(["pkcs11-tool", "--module", module.path] + arguments, at: location)
    }
}

/// A PKCS#11 module of the distribution.
struct PKCS11Module {
    let path: String

    static let openSC = PKCS11Module("opensc-pkcs11.so")
    static let ykcs11 = PKCS11Module("libykcs11.so")
    static let p11KitProxy = PKCS11Module("p11-kit-proxy.so")
    static let p11KitClient = PKCS11Module("pkcs11/p11-kit-client.so")

    private init(_ name: String) {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        let paths = folders.map { "/usr/lib/\($0)/\(name)" }
        path = paths.first(where: FileManager.default.fileExists) ?? name
    }
}
