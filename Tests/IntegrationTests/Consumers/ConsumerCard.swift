import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// The environment of a program that uses a card through the module: a card with certificates of an authority, an empty home,
/// and the module.
final class ConsumerCard: ProgramsOfAConsumer, Sendable {
    let holder: DaemonWithCard
    let folder: TemporaryFolder

    /// The environment of every program.
    let environment: [String: String]

    static let pin = "123456"

    /// The card's label, and with it a URI of everything on it.
    static let label = "YubiKey 5 7654321"
    static let token = "pkcs11:token=YubiKey%205%207654321"

    /// The path of the built module without symbolic links, because ssh-agent compares paths.
    static let module = URL(filePath: Program.module).resolvingSymlinksInPath()
        .path(percentEncoded: false)

    private static let files = ["9A": "auth-9a", "9C": "sign-9c", "9D": "keymgmt-9d", "9E": "cardauth-9e"]

    /// - Parameters:
    ///   - keys: The kind of key at each reference; "9A" has its certificate in "9A.pem", the authority its own in "ca.pem".
    ///   - objects: Data objects of the card, by the names of a ``CardImage``'s files.
    ///   - driver: A driver in front of vpcd; nil for none.
    ///   - variables: Further environment variables of programs.
    convenience init(
        _ keys: KeyValuePairs<String, KeyKind>, profile: CardProfile = .yubiKey57, objects: [String: [UInt8]] = [:],
        driver: PrivatePCSCD.ReaderDriver? = nil, variables: [String: String] = [:]
    ) throws {
        let folder = try TemporaryFolder()
        try Self.makeFolder("image", in: folder)
        let authority = try Authority()
        try folder.write("ca.pem", authority.certificate.pem)
        for (reference, kind) in keys {
            let key = try PrivateKey.generate(kind)
            let certificate = try authority.issue(key.publicKey, named: "Key \(reference)")
            try folder.write("\(reference).pem", certificate.pem)
            let name = "image/" + (try #require(Self.files[reference]))
            try folder.write(name + ".crt", certificate.der)
            try folder.write(
                name + ".p12",
                PKCS12.create([.init(key, certificate)], password: Secret(capacity: 0) { _ in }, iterations: 1))
        }
        for (name, content) in objects { try folder.write("image/" + name, content) }
        let card = try CardImage.load(folder.path("image")).makeCard(profile: profile)
        try self.init(card, in: folder, driver: driver, variables: variables)
    }

    /// A card as its maker delivers it, without keys.
    convenience init(new profile: CardProfile) throws {
        try self.init(VirtualCard(profile: profile), in: TemporaryFolder())
    }

    private init(
        _ card: VirtualCard, in folder: TemporaryFolder, driver: PrivatePCSCD.ReaderDriver? = nil,
        variables: [String: String] = [:]
    ) throws {
        self.folder = folder
        for name in ["home", "run"] { try Self.makeFolder(name, in: folder) }
        holder = try DaemonWithCard(card, driver: driver)
        let home = folder.path("home")
        try PasswordCost.lower(in: home + "/.config")
        let own = [
            "HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home + "/.local/share",
            "XDG_CACHE_HOME": home + "/.cache", "XDG_STATE_HOME": home + "/.local/state",
            "XDG_RUNTIME_DIR": folder.path("run"), "DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_AUTH_SOCK": "",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent", "TOKENKIT_MODULES": "",
        ]
        environment = own.merging(holder.daemon.environment) { $1 }.merging(variables) { $1 }
        try folder.write("message", ClientCard.message)
        try folder.write("pin", Self.pin)
    }

    private static func makeFolder(_ name: String, in folder: TemporaryFolder) throws {
        try FileManager.default.createDirectory(
            atPath: folder.path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    func path(_ name: String) -> String { folder.path(name) }

    /// The text of a file.
    func text(_ name: String) throws -> String { String(decoding: try folder.read(name), as: UTF8.self) }

    /// Takes the card out and puts it back.
    func replug() throws {
        holder.link.remove()
        try holder.waitForNoCard()
        holder.link.insert()
        try holder.waitForCard()
    }

    /// The URIs that a listing of tokenctl prints.
    func uris(
        _ command: String..., variables: [String: String] = [:], at location: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        try output(of: [Program.command] + command + ["--uri"], variables, at: location)
            .split(separator: "\n").map(String.init)
    }

    // MARK: - Programs

    /// Runs a program that has to succeed, and returns what it put out, errors not among it.
    func output(
        of command: [String], _ variables: [String: String] = [:], at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run(command, variables)
        #expect(result.status == 0, "\(command.joined(separator: " ")): \(result)", sourceLocation: location)
        return result.text
    }
}

/// The authority behind a card's certificates.
private struct Authority {
    let certificate: Certificate
    private let key: PrivateKey
    private let day = Int64(86_400)
    private let now = Int64(Date().timeIntervalSince1970)

    init() throws {
        key = try PrivateKey.generate(.ecP256)
        var builder = try CertificateBuilder(
            commonName: "Issuer", publicKey: key.publicKey, notBefore: now - day, notAfter: now + 30 * day)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        certificate = try builder.selfSigned(by: key)
    }

    /// A certificate for every use, so that only the module's behaviour matters.
    func issue(_ publicKey: PublicKey, named name: String) throws -> Certificate {
        var builder = try CertificateBuilder(
            commonName: name, publicKey: publicKey, notBefore: now - day, notAfter: now + 29 * day)
        builder.subjectAlternativeNames = [.dns("localhost")]
        return try builder.issued(by: certificate, key: key)
    }
}

// MARK: - The PIN

extension ConsumerCard {
    /// The number of tries left for the PIN.
    var triesLeft: Int {
        get throws {
            let status = try succeed(["yubico-piv-tool", "--reader=Virtual", "-a", "status"])
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("PIN tries left:") })
            return try #require(line.split(separator: "\t").last.flatMap { Int($0) })
        }
    }

    /// Writes "pinentry", a program that records its starts and the questions that it is asked.
    ///
    /// - Parameters:
    ///   - answer: a line of the Assuan protocol; the PIN if left out.
    ///   - allowsAlways: whether permissions are given for ever, by the button for that and a second question.
    func writePinentry(answering answer: String = "D \(pin)\nOK", allowingAlways allowsAlways: Bool = false) throws {
        let always =
            "[ $(($(wc -l <'\(path("permissions"))') % 2)) = 0 ] || { echo 'ERR 83886194 not confirmed'; continue; }"
        for name in ["questions", "permissions", "starts"] { try folder.write(name, "") }
        try folder.writeProgram(
            "pinentry",
            """
            echo started >>'\(path("starts"))'
            echo 'OK ready'
            while read -r command text; do
                case $command in
                    SETDESC) question=$text ;;
                    CONFIRM) echo "$question" >>'\(path("permissions"))'; \(allowsAlways ? always : "") ;;
                    GETPIN) echo "$question" >>'\(path("questions"))'; printf '\(answer)\\n'; continue ;;
                    BYE) exit ;;
                esac
                echo OK
            done
            """)
    }

    /// The number of times that pinentry was started so far.
    var pinentryStarts: Int { get throws { try text("starts").split(separator: "\n").count } }

    /// The permissions that pinentry was asked for so far, and gave.
    var pinentryPermissions: [String] {
        get throws { try text("permissions").split(separator: "\n").map(String.init) }
    }

    /// The questions that pinentry was asked so far.
    var pinentryQuestions: [String] {
        get throws { try text("questions").split(separator: "\n").map(String.init) }
    }
}
