import Foundation
import TestSupport
import Testing

/// NSS, with which browsers and mail programs use cards, uses the module.
@Suite struct NSSTests {
    /// Certificates are readable without a login, although `modutil` is not told that the token is "friendly": the token says so
    /// itself, by its profile object, which NSS asks for through the 3.0 interface.
    @Test func listsCertificatesWithoutALogin() throws {
        let home = try ConsumerHome([.authentication: "rsa:2048", .signature: "ec:P-256", .retired1: "ec:P-384"])
        let nss = try NSSDatabase(home)
        let listing = try home.succeed(["certutil", "-L", "-d", nss.path, "-h", "all"])
        for slot in [CardSlotName.authentication, .signature, .retired1] {
            // u: there is a private key for the certificate.
            #expect(listing.contains(try Regex("\(nss.nickname(slot)) +u,u,u")), "\(listing)")
        }
        #expect(try home.calls("C_Login").isEmpty)
    }

    /// NSS groups certificates of one subject, and finds them by their labels.
    @Test func keepsCertificatesOfOneSubjectApart() throws {
        let home = try ConsumerHome(
            [.authentication: "rsa:2048", .signature: "ec:P-256", .management: "rsa:2048"],
            subject: { _ in "/CN=Alice" })
        let nss = try NSSDatabase(home)
        let listing = try home.succeed(["certutil", "-L", "-d", nss.path, "-h", "all"])
        for slot in [CardSlotName.authentication, .signature, .management] {
            #expect(listing.contains(nss.nickname(slot)), "\(listing)")
            let shown = try home.succeed(["certutil", "-L", "-d", nss.path, "-n", nss.nickname(slot), "-a"])
            let certificate = try String(contentsOfFile: home.certificate(slot), encoding: .utf8)
            #expect(shown.filter { !$0.isWhitespace }.contains(certificate.filter { !$0.isWhitespace }), "\(shown)")
        }
    }

    @Test func listsKeysAfterALogin() throws {
        let home = try ConsumerHome([.authentication: "rsa:2048", .signature: "ec:P-256", .retired1: "ec:P-384"])
        let nss = try NSSDatabase(home)
        let listing = try home.succeed(
            ["certutil", "-K", "-d", nss.path, "-h", ConsumerHome.tokenLabel, "-f", nss.pinFile])
        for (kind, slot) in [("rsa", CardSlotName.authentication), ("ec", .signature), ("ec", .retired1)] {
            #expect(listing.contains(try Regex("\(kind) +\(slot.id) +\(slot.label)")), "\(listing)")
        }
        #expect(try home.calls("C_Login") == ["CKR_OK"])
    }

    @Test func spendsOneTryOnAWrongPIN() throws {
        let home = try ConsumerHome([.authentication: "rsa:2048"])
        let nss = try NSSDatabase(home)
        let wrong = try home.folder.write("wrong", ConsumerHome.wrongPIN + "\n")
        let answer = try home.fail(["certutil", "-K", "-d", nss.path, "-h", ConsumerHome.tokenLabel, "-f", wrong])
        #expect(answer.contains("SEC_ERROR_BAD_PASSWORD"), "\(answer)")
        #expect(try home.calls("C_Login") == ["CKR_PIN_INCORRECT"])
    }

    /// NSS logs in a second time for the key that needs the PIN each time.
    @Test(arguments: [CardSlotName.authentication, .signature, .retired1], ["tls1.2", "tls1.3"])
    func showsAServerItsCertificate(slot: CardSlotName, version: String) throws {
        let home = try ConsumerHome([.authentication: "rsa:2048", .signature: "ec:P-256", .retired1: "ec:P-384"])
        let nss = try NSSDatabase(home)
        let server = try home.demandingServer()
        let request = try home.folder.write("request", "GET / HTTP/1.0\r\n\r\n")
        let page = try home.succeed([
            "tstclnt", "-4", "-h", "localhost", "-p", server.greeting, "-d", nss.path, "-n", nss.nickname(slot), "-W",
            nss.pinFile, "-V", "\(version):\(version)", "-A", request,
        ])
        #expect(page.contains("Subject: O=Test, CN=Alice \(slot)"), "\(page)")
        #expect(page.contains("Protocol  : \(version == "tls1.2" ? "TLSv1.2" : "TLSv1.3")"))
        let logins = slot == .signature ? 2 : 1
        #expect(try home.calls("C_Login") == Array(repeating: "CKR_OK", count: logins))
        #expect(try home.calls("C_Sign").filter { $0 != "CKR_OK" } == [])
    }

    @Test(arguments: [CardSlotName.authentication, .signature])
    func signsAMessage(slot: CardSlotName) throws {
        let home = try ConsumerHome([.authentication: "rsa:2048", .signature: "ec:P-256"])
        let nss = try NSSDatabase(home)
        let (message, signed) = (try home.folder.write("message", "what is said\n"), home.folder.path("signed"))
        try home.succeed([
            "cmsutil", "-S", "-d", nss.path, "-N", nss.nickname(slot), "-f", nss.pinFile, "-G", "-H", "SHA256", "-i",
            message, "-o", signed,
        ])
        let read = try home.succeed([
            "openssl", "cms", "-verify", "-inform", "DER", "-in", signed, "-CAfile", home.authority, "-purpose",
            "smimesign",
        ])
        #expect(read.contains("what is said"))
        #expect(try home.succeed(["cmsutil", "-D", "-d", nss.path, "-i", signed]).contains("what is said"))
    }

    @Test func readsAMessageThatIsForTheCard() throws {
        let home = try ConsumerHome([.management: "rsa:2048"])
        let nss = try NSSDatabase(home)
        let (message, encrypted) = (try home.folder.write("message", "what is said\n"), home.folder.path("encrypted"))
        try home.succeed([
            "openssl", "cms", "-encrypt", "-aes256", "-outform", "DER", "-in", message, "-out", encrypted,
            home.certificate(.management),
        ])
        let read = try home.succeed(["cmsutil", "-D", "-d", nss.path, "-f", nss.pinFile, "-i", encrypted])
        #expect(read.contains("what is said"))
    }

    /// poppler signs twice, the first time to learn the length of a signature. For a key that needs the PIN each time NSS asks
    /// poppler for the PIN once more, and gets an empty one.
    @Test(
        arguments: [CardSlotName.authentication, .signature, .management, .retired1],
        ["rsa:2048", "ec:P-256"])
    func aDocumentSignedWithAnyKeyIsValid(slot: CardSlotName, kind: String) throws {
        let home = try ConsumerHome([slot: kind], revocations: CertificateFiles.revocations)
        let nss = try NSSDatabase(home)
        let signed = home.folder.path("out.pdf")
        var (tries, result) = (0, try nss.sign(with: slot, to: signed))
        tries += 1
        // ECDSA signatures in DER have different lengths, and poppler fails if the second is not as long as the first.
        while kind.hasPrefix("ec"), result.status != 0, tries < 40 {
            result = try nss.sign(with: slot, to: signed)
            tries += 1
        }
        #expect(result.status == 0, "\(result)")
        let report = try nss.report(on: signed)
        #expect(report.contains("Signature is Valid"), "\(report)")
        #expect(report.contains("Certificate is Trusted"), "\(report)")
        #expect(report.contains("CN=Alice \(slot),O=Test"))
        // Each signature is made, even if poppler fails, and no login is refused.
        #expect(try home.calls("C_Sign") == Array(repeating: "CKR_OK", count: 2 * tries))
        let logins = slot == .signature ? 3 : 1
        #expect(try home.calls("C_Login") == Array(repeating: "CKR_OK", count: logins * tries))
    }

    /// poppler takes a password for one token only, so that it has none for the keychain beside the card.
    @Test(arguments: [false, true]) func signsADocument(besideAKeychain: Bool) throws {
        let home = try ConsumerHome([.authentication: "rsa:2048"], revocations: CertificateFiles.revocations)
        let variables = besideAKeychain ? ["TOKENKIT_PKCS11_TOKENS": ""] : [:]
        if besideAKeychain { try home.succeed([Program.command, "create-keychain", "-p", "other"]) }
        let nss = try NSSDatabase(home)
        let signed = home.folder.path("out.pdf")
        let result = try nss.sign(with: .authentication, to: signed, variables)
        #expect(result.status == 0, "\(result)")
        let report = try nss.report(on: signed)
        #expect(report.contains("Signature is Valid"), "\(report)")
        #expect(report.contains("Certificate is Trusted"), "\(report)")
        #expect(report.contains("CN=Alice 9A,O=Test"))
        #expect(report.contains("Total document signed"))
        #expect(try home.calls("C_Login") == ["CKR_OK"])
    }
}

/// A database of NSS that knows of the module and trusts the test's authority.
struct NSSDatabase {
    let path: String
    /// A file with the card's PIN.
    let pinFile: String

    private let home: ConsumerHome

    init(_ home: ConsumerHome) throws {
        self.home = home
        let folder = home.folder.path("nss")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        path = "sql:\(folder)"
        pinFile = try home.folder.write("pin", ConsumerHome.pin + "\n")
        try home.succeed(["certutil", "-N", "-d", path, "--empty-password"])
        try home.succeed(["certutil", "-A", "-d", path, "-n", "Authority", "-t", "CT,C,C", "-a", "-i", home.authority])
        let added = try home.succeed([
            "modutil", "-dbdir", path, "-add", "TokenKit", "-libfile", ConsumerHome.module, "-force",
        ])
        #expect(added.contains("Module \"TokenKit\" added to database."))
        try home.forgetCalls()
    }

    /// NSS's name of a key's certificate.
    func nickname(_ slot: CardSlotName) -> String { "\(ConsumerHome.tokenLabel):\(slot.label)" }

    /// Has `pdfsig` sign a document.
    func sign(
        with slot: CardSlotName, to signed: String, _ variables: [String: String] = [:]
    ) throws -> ProgramResult {
        let document = try home.folder.write("in.pdf", ConsumerFiles.pdf)
        return try home.run(
            [
                "pdfsig", "-nssdir", path, "-nss-pwd", ConsumerHome.pin, "-add-signature", "-nick", nickname(slot),
                document, signed,
            ], variables)
    }

    /// The report of `pdfsig` about a document's signatures.
    func report(on document: String) throws -> String {
        try home.succeed(["pdfsig", "-nssdir", path, "-no-ocsp", document])
    }
}

extension ConsumerHome {
    /// A TLS server that answers only clients with a certificate of the authority, and prints their names. Its greeting is its
    /// port.
    func demandingServer() throws -> ServerProcess {
        try CertificateFiles(folder).issue(
            "server", "ec:P-256", subject: "/CN=localhost",
            extensions: "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth")
        return try ServerProcess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", folder.path("server.pem"), "-key",
                folder.path("server.key"), "-CAfile", authority, "-Verify", "1", "-verify_return_error", "-www",
            ], environment: environment, ready: "ACCEPT [^\n]*:([0-9]+)\n", in: folder)
    }
}
