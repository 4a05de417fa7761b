import Foundation
import SystemCrypto
import TestSupport
import Testing

/// Programs authenticate to a server with a card's certificate and key.
@Suite struct ClientCertificateTests {
    static let versions = ["1.2", "1.3"]

    @Test(arguments: OpenSSHTests.kinds, versions) func openSSLConnects(kind: KeyKind, version: String) throws {
        let server = try DemandingServer(kind)
        let engine = server.engine
        let option = version == "1.2" ? "-tls1_2" : "-tls1_3"
        let page = try engine.openssl(
            [
                "s_client", "-connect", "127.0.0.1:\(server.port)", option, "-quiet", "-servername", "localhost",
                "-CAfile", server.certificate, "-verify_return_error", "-cert", engine.card.path("9A.pem"),
            ] + EngineCard.form + ["-key", engine.key("9A")], input: "GET / HTTP/1.0\r\n\r\n")
        server.expect(page, version: version)
    }

    @Test(arguments: OpenSSHTests.kinds, versions) func curlConnects(kind: KeyKind, version: String) throws {
        let server = try DemandingServer(kind)
        let card = server.engine.card
        let url = "https://localhost:\(server.port)/"
        let command = [
            "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", server.certificate, "--resolve",
            "localhost:\(server.port):127.0.0.1",
        ]
        try card.fail(command + [url])
        let identity = ["--cert", "\(ConsumerCard.token);id=%01;type=cert", "--key", server.engine.key("9A")]
        let page = try card.succeed(
            command + identity + ["--tlsv\(version)", "--tls-max", version, url], EngineCard.variables)
        server.expect(page, version: version)
    }

    @Test func curlConnectsByTheURIsThatArePrinted() throws {
        let server = try DemandingServer(.ecP256)
        let card = server.engine.card
        let identity = [
            "--cert", try #require(card.uris("find-certificate", "-a").first), "--key",
            try #require(card.uris("find-key").first) + "?pin-source=\(card.path("pin"))",
        ]
        let command = [
            "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", server.certificate, "--resolve",
            "localhost:\(server.port):127.0.0.1", "--engine", "pkcs11", "--cert-type", "ENG", "--key-type", "ENG",
        ]
        for _ in 1...2 {
            let url = "https://localhost:\(server.port)/"
            let page = try card.succeed(command + identity + ["--tls-max", "1.3", url], EngineCard.variables)
            server.expect(page, version: "1.3")
            try card.replug()
        }
    }

    /// GnuTLS presents the PIN again for a key that needs it each time.
    @Test(arguments: OpenSSHTests.kinds, versions) func gnuTLSConnects(kind: KeyKind, version: String) throws {
        let server = try DemandingServer(kind)
        for (reference, identifier) in [("9A", "01"), ("9C", "02")] {
            let page = try server.engine.card.succeed(
                [
                    "gnutls-cli", "--priority", "NORMAL:-VERS-ALL:+VERS-TLS\(version)", "--provider",
                    ConsumerCard.module, "--x509cafile", server.certificate, "--x509certfile",
                    "\(ConsumerCard.token);id=%\(identifier);type=cert", "--x509keyfile", server.engine.key(reference),
                    "-p", "\(server.port)", "localhost",
                ], input: "GET / HTTP/1.0\r\n\r\n")
            server.expect(page, version: version, key: reference)
        }
    }
}

/// A server that demands a certificate of the card's authority, and prints the client's.
struct DemandingServer {
    let engine: EngineCard
    let service: ConsumerService
    let port: Int

    /// The server's certificate, which clients have to trust.
    let certificate: String

    init(_ kind: KeyKind) throws { try self.init(EngineCard(["9A": kind, "9C": kind])) }

    init(_ engine: EngineCard) throws {
        let card = engine.card
        let (certificate, key) = (card.path("server.pem"), card.path("server.key"))
        try card.succeed([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ])
        (service, port) = try card.serve(named: "s_server") { port in
            [
                "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert", certificate, "-key", key, "-Verify",
                "1",
                "-verify_return_error", "-CAfile", card.path("ca.pem"), "-www",
            ]
        }
        (self.engine, self.certificate) = (engine, certificate)
    }

    func expect(
        _ page: String, version: String, key: String = "9A", at location: SourceLocation = #_sourceLocation
    ) {
        #expect(page.contains("Protocol  : TLSv\(version)"), "\(page)", sourceLocation: location)
        #expect(page.contains("Subject: CN=Key \(key)"), "\(page)", sourceLocation: location)
    }
}
