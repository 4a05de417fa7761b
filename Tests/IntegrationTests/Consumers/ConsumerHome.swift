import Foundation
import TestSupport
import Testing
import VirtualCard

/// The machine of a person with a card, for a program that uses the module: a card in the reader, with certificates of the
/// test's authority, and a home.
final class ConsumerHome: ProgramsOfAConsumer, Sendable {
    let holder: DaemonWithCard
    let folder: TemporaryFolder

    static let pin = "123456"
    static let wrongPIN = "999999"
    static let tokenLabel = "YubiKey 5 7654321"
    static let module = Program.module

    /// The folders in which `Scripts/prerequisites` puts programs that are not installed.
    static let unpacked = built("unpacked")
    static let python = built("python")

    private static func built(_ name: String) -> String {
        Program.packageRoot.appending(path: ".build/\(name)").path(percentEncoded: false)
    }

    /// - Parameters:
    ///   - keys: the kinds of the card's keys, such as `rsa:2048` and `ec:P-384`.
    ///   - subject: the subject of a key's certificate, in OpenSSL's form.
    ///   - revocations: the extension that says where revocations are published; empty for none.
    init(
        _ keys: KeyValuePairs<CardSlotName, String>,
        subject: (CardSlotName) -> String = { "/O=Test/CN=Alice \($0)" }, revocations: String = ""
    ) throws {
        folder = try TemporaryFolder()
        let files = CertificateFiles(folder)
        try files.makeAuthority()
        try FileManager.default.createDirectory(atPath: folder.path("card"), withIntermediateDirectories: false)
        let extensions = CertificateFiles.personExtensions + revocations
        for (slot, kind) in keys { try files.makeKey(slot, kind, subject: subject(slot), extensions: extensions) }
        let card = try CardImage.load(folder.path("card")).makeCard(profile: .yubiKey57)
        holder = try DaemonWithCard(card)
        for name in ["home", "run"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        try PasswordCost.lower(in: folder.path("home/.config"))
    }

    /// The authority's certificate.
    var authority: String { folder.path("ca.pem") }

    /// The certificate of a key.
    func certificate(_ slot: CardSlotName) -> String { folder.path("card/\(slot.file).crt") }

    // MARK: - Programs

    /// The environment of programs: their own home, and a file for the log of the module's calls.
    var environment: [String: String] {
        let home = folder.path("home")
        return holder.daemon.environment.merging([
            "HOME": home, "XDG_CONFIG_HOME": "\(home)/.config", "XDG_DATA_HOME": "\(home)/.local/share",
            "XDG_CACHE_HOME": "\(home)/.cache", "XDG_RUNTIME_DIR": folder.path("run"),
            "TOKENKIT_DEBUG": folder.path("calls"), "TOKENKIT_PKCS11_TOKENS": "cards",
        ]) { $1 }
    }

    // MARK: - The module's calls

    /// The results of one of the module's functions since ``forgetCalls()``, in their order.
    func calls(_ function: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path("calls")) else { return [] }
        return String(decoding: try folder.read("calls"), as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 3, words[2] == function else { return nil }
            return String(words[3].prefix { $0 != ":" })
        }
    }

    func forgetCalls() throws {
        try folder.write("calls", "")
    }
}

/// The slots of a card that tests put keys in.
enum CardSlotName: String, Sendable, CustomStringConvertible {
    case authentication = "9A"
    case signature = "9C"
    case management = "9D"
    case cardAuthentication = "9E"
    case retired1 = "82"

    /// The name of the slot's files in a card's folder.
    var file: String {
        switch self {
        case .authentication: "auth-9a"
        case .signature: "sign-9c"
        case .management: "keymgmt-9d"
        case .cardAuthentication: "cardauth-9e"
        case .retired1: "hist1-82"
        }
    }

    /// The name that the module gives its objects.
    var label: String {
        switch self {
        case .authentication: "PIV Authentication"
        case .signature: "Digital Signature"
        case .management: "Key Management"
        case .cardAuthentication: "Card Authentication"
        case .retired1: "Retired Key Management 1"
        }
    }

    /// The `CKA_ID` of its objects.
    var id: String {
        switch self {
        case .authentication: "01"
        case .signature: "02"
        case .management: "03"
        case .cardAuthentication: "04"
        case .retired1: "05"
        }
    }

    var description: String { rawValue }
}

/// The files of a certification authority. OpenSSL makes them, so that the module does not make the tests of itself.
struct CertificateFiles {
    private let folder: TemporaryFolder

    init(_ folder: TemporaryFolder) {
        self.folder = folder
    }

    static let personExtensions = """
        keyUsage=digitalSignature,nonRepudiation,keyEncipherment,keyAgreement
        extendedKeyUsage=clientAuth,emailProtection,codeSigning,1.3.6.1.4.1.311.20.2.2
        subjectAltName=email:alice@example.test,otherName:1.3.6.1.4.1.311.20.2.3;UTF8:alice@EXAMPLE.TEST

        """

    /// poppler 22 trusts a certificate only if it says where revocations are published, although it does not look there.
    static let revocations = "crlDistributionPoints=URI:http://revocations.invalid/ca.crl\n"

    func makeAuthority() throws {
        try openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            "/CN=Test Authority", "-days", "30", "-keyout", folder.path("ca.key"), "-out", folder.path("ca.pem"),
            "-addext", "keyUsage=keyCertSign,cRLSign",
        ])
    }

    func makeKey(_ slot: CardSlotName, _ kind: String, subject: String, extensions: String) throws {
        let name = "card/\(slot.file)"
        try issue(name, kind, subject: subject, extensions: extensions)
        try FileManager.default.moveItem(atPath: folder.path("\(name).pem"), toPath: folder.path("\(name).crt"))
        try openssl([
            "pkcs12", "-export", "-in", folder.path("\(name).crt"), "-inkey", folder.path("\(name).key"), "-passout",
            "pass:", "-out", folder.path("\(name).p12"),
        ])
    }

    /// Makes a key and its certificate, in files of that name.
    func issue(_ name: String, _ kind: String, subject: String, extensions: String) throws {
        let parts = kind.split(separator: ":").map(String.init)
        let option = parts[0] == "rsa" ? "rsa_keygen_bits" : "ec_paramgen_curve"
        let (key, request, settings) = (
            folder.path("\(name).key"), folder.path("\(name).csr"), folder.path("\(name).ext")
        )
        try folder.write("\(name).ext", extensions + "\n")
        try openssl(["genpkey", "-algorithm", parts[0], "-pkeyopt", "\(option):\(parts[1])", "-out", key])
        try openssl(["req", "-new", "-key", key, "-subj", subject, "-out", request])
        try openssl([
            "x509", "-req", "-in", request, "-CA", folder.path("ca.pem"), "-CAkey", folder.path("ca.key"), "-days",
            "20", "-extfile", settings, "-out", folder.path("\(name).pem"),
        ])
    }

    private func openssl(_ arguments: [String]) throws {
        let result = try Program.run(["openssl"] + arguments)
        try #require(result.status == 0, "openssl \(arguments.joined(separator: " ")): \(result)")
    }
}

/// A program that serves until the last reference to it goes.
final class ServerProcess: Sendable {
    private let process: ChildProcess
    private let output: String

    /// Starts the program, and waits until it reports that it is ready.
    ///
    /// - Parameters:
    ///   - readiness: the expression that matches in the output once the program is ready. ``greeting`` is what it captures, if
    ///     anything.
    ///   - folder: the folder for the output.
    init(
        _ command: [String], environment: [String: String], ready readiness: String, in folder: TemporaryFolder
    ) throws {
        output = try folder.write("server-\(UUID().uuidString)", "")
        let (nothing, file) = (
            try FileHandle(forReadingFrom: URL(filePath: "/dev/null")),
            try FileHandle(forWritingTo: URL(filePath: output))
        )
        process = try ChildProcess(
            command, environment: environment,
            streams: [nothing.fileDescriptor, file.fileDescriptor, file.fileDescriptor])
        let pattern = try Regex(readiness)
        var said = ""
        let output = output
        eventually {
            said = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            return said.firstMatch(of: pattern) != nil
        }
        guard let match = said.firstMatch(of: pattern) else { throw NotReady(output: said) }
        greeting = match.output.last?.substring.map(String.init) ?? ""
    }

    deinit {
        kill(process.identifier, SIGTERM)
        process.wait()
    }

    /// The text that the last group of the expression has captured.
    let greeting: String

    struct NotReady: Error {
        let output: String
    }
}
