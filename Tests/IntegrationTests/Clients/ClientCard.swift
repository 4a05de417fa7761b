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
        try PasswordCost.lower(in: folder.path)
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

    // MARK: - The command

    /// Runs `tokenctl` in a home of its own; it has to succeed.
    ///
    /// - Returns: its standard output.
    @discardableResult
    func tokenctl(_ command: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        let places = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"]
        let result = try holder.run(["env"] + places.map { "\($0)=\(folder.path)" } + [Program.command] + command)
        #expect(result.status == 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.text
    }

    /// The subject and the key of a slot, as `tokenctl card info` tells them.
    func slot(_ name: String, at location: SourceLocation = #_sourceLocation) throws -> String {
        let overview = try JSONSerialization.jsonObject(with: Data(tokenctl("card", "info", "--json").utf8))
        let slots = (overview as? [String: Any])?["slots"] as? [[String: Any]] ?? []
        let slot = try #require(slots.first { $0["slot"] as? String == name }, sourceLocation: location)
        return ["subject", "key"].map { slot[$0] as? String ?? "none" }.joined(separator: ", ")
    }

    /// Writes a file that other users cannot read, and returns it as a source of secrets.
    func secret(_ name: String, _ text: String) throws -> String {
        let file = try folder.write(name, text)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        return "file:\(file)"
    }

    static let newPIN = "111222"

    /// Sets up a new card by `tokenctl card setup`, with the PIN ``newPIN``, EC keys, and "Jo" in its certificates.
    ///
    /// - Returns: the source of the PIN.
    func setUp(at location: SourceLocation = #_sourceLocation) throws -> String {
        try tokenctl(
            "card", "setup", "-c", "Jo", "--yes", "--allow-weak-key", "--pin-source",
            secret("new", "\(Self.newPIN)\n11122233\n"), at: location)
        return try secret("pin", Self.newPIN)
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
