import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// A blank card gets its certificate from an authority's server, and later the next one for the same key, by EST (RFC 7030).
@Suite struct EnrolmentTests {
    @Test(arguments: [CardProfile.yubiKey57, .generic]) func byESTWithOpenSSLAndCurl(profile: CardProfile) throws {
        let desk = try EnrolmentDesk(profile)
        try desk.officer("--keypairgen", "--key-type", "EC:prime256v1", "--id", "01")
        try desk.request()
        try desk.enrol("simpleenroll", ["--user", "jo:secret"])
        let first = try desk.certificate()
        #expect(first.commonName == "Jo")
        try desk.writeCertificate()

        try desk.enrol("simplereenroll", EnrolmentDesk.identity)
        let second = try desk.certificate()
        #expect(second.spki == first.spki && second.serialNumber != first.serialNumber)
        try desk.officer("--delete-object", "--type", "cert", "--id", "01")
        try desk.writeCertificate()
        let listed = try desk.card.output(of: [Program.command, "find-certificate", "-a", "-c", "Jo", "-p"])
        #expect(try PEM.blocks(labelled: "CERTIFICATE", in: Array(listed.utf8)) == [second.der])
    }

    @Test func byESTNobodyEnrolsWithoutAProof() throws {
        let desk = try EnrolmentDesk(.yubiKey57)
        try desk.officer("--keypairgen", "--key-type", "EC:prime256v1", "--id", "01")
        try desk.request()
        #expect(try desk.failToEnrol("simpleenroll", ["--user", "jo:guess"]).contains("401"))
        #expect(try desk.failToEnrol("simplereenroll", []).contains("401"))
    }
}

/// A blank card, and an authority with a server.
private struct EnrolmentDesk {
    let card: ConsumerCard
    private let server: ConsumerService
    private let port: Int

    /// The key and the certificate of 9A, with which curl shows itself to the server.
    static let identity = [
        "--engine", "pkcs11", "--cert-type", "ENG", "--cert", "pkcs11:id=%01;type=cert", "--key-type", "ENG", "--key",
        key,
    ]
    private static let key = "pkcs11:id=%01;type=private?pin-value=\(ConsumerCard.pin)"
    private static let variables = EngineCard.variables.merging(["TOKENKIT_PKCS11_TOKENS": "cards"]) { $1 }

    init(_ profile: CardProfile) throws {
        let card = try ConsumerCard(new: profile)
        for (name, subject) in [("ca", "Authority"), ("server", "localhost")] {
            try card.succeed([
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=\(subject)", "-addext", "subjectAltName=DNS:localhost", "-keyout", card.path("\(name).key"),
                "-out",
                card.path("\(name).pem"),
            ])
        }
        (server, port) = try card.serve(named: "est-server") { port in
            ["/usr/bin/python3", OwnAgent.script("est-server"), "\(port)", card.folder.path]
        }
        self.card = card
    }

    /// Runs `pkcs11-tool` as the security officer.
    func officer(_ arguments: String...) throws {
        let key = String(repeating: "0102030405060708", count: 3)
        let login = ["--login", "--login-type", "so", "--so-pin", key]
        try card.succeed(["pkcs11-tool", "--module", ConsumerCard.module] + login + arguments, Self.variables)
    }

    /// Writes a request that the card's key has signed.
    func request() throws {
        let (der, text) = (card.path("request.der"), card.path("request.b64"))
        try card.succeed(
            ["openssl", "req", "-new"] + EngineCard.form + ["-key", Self.key, "-subj", "/CN=Jo", "-outform", "DER"]
                + ["-out", der], Self.variables)
        try card.succeed(["openssl", "base64", "-in", der, "-out", text])
    }

    func enrol(_ operation: String, _ proof: [String]) throws {
        let (answer, certificates) = (card.path("answer.b64"), card.path("answer.p7"))
        try card.succeed(post(operation, proof) + ["-o", answer], Self.variables)
        try card.succeed(["openssl", "base64", "-d", "-in", answer, "-out", certificates])
        try card.succeed([
            "openssl", "pkcs7", "-inform", "DER", "-in", certificates, "-print_certs", "-out", card.path("jo.pem"),
        ])
    }

    func failToEnrol(_ operation: String, _ proof: [String]) throws -> String {
        try card.fail(post(operation, proof), Self.variables)
    }

    private func post(_ operation: String, _ proof: [String]) -> [String] {
        [
            "curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", card.path("server.pem"),
            "--resolve",
            "localhost:\(port):127.0.0.1", "--tls-max", "1.3", "--header", "Content-Type: application/pkcs10",
            "--header",
            "Content-Transfer-Encoding: base64", "--data-binary", "@" + card.path("request.b64"),
            "https://localhost:\(port)/.well-known/est/\(operation)",
        ] + proof
    }

    /// The certificate that the server has issued.
    func certificate() throws -> Certificate {
        let certificates = try PEM.blocks(labelled: "CERTIFICATE", in: card.folder.read("jo.pem"))
        return try Certificate(der: #require(certificates.first))
    }

    func writeCertificate() throws {
        let file = card.path("jo.der")
        try card.succeed(["openssl", "x509", "-in", card.path("jo.pem"), "-outform", "DER", "-out", file])
        try officer("--write-object", file, "--type", "cert", "--id", "01")
    }
}
