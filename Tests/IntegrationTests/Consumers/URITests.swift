import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// Other programs find the same object by a URI that tokenctl prints, in whichever reader the card is.
@Suite struct URITests {
    @Test func aPrintedURIWorksAfterTheCardWasOutAndInAnotherReader() throws {
        let engine = try EngineCard(["9A": .ecP256, "9D": .rsa(bits: 2048)])
        let card = engine.card
        let printed = try PrintedURIs(card)
        try printed.expectUse(engine)
        try card.replug()
        #expect(try PrintedURIs(card) == printed)
        try printed.expectUse(engine)
        card.holder.link.remove()
        let other = try DaemonWithCard(card.holder.card, reader: "Another Reader")
        #expect(try PrintedURIs(card, other.daemon.environment) == printed)
        try printed.expectUse(engine, other.daemon.environment)
    }

    /// If a certificate has a successor with the same key, the id does not tell them apart.
    @Test func aPrintedURINamesOneObjectOfAKeychain() throws {
        let card = try ConsumerCard(["9A": .ecP256])
        let tokenctl = Program.command
        try card.folder.write("password", "secret")
        try card.succeed(["chmod", "600", card.path("password")])
        let password = ["--pin-source", "file:\(card.path("password"))"]
        try card.succeed([tokenctl, "create-keychain"] + password)
        for serial in ["1", "2"] {
            let key = serial == "1" ? ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] : []
            try card.succeed(
                ["openssl", "req", "-x509", "-set_serial", serial, "-subj", "/CN=Jo", "-out", card.path("jo.pem")] + key
                    + (key.isEmpty ? ["-key", card.path("jo.key")] : ["-keyout", card.path("jo.key")]))
            try card.succeed([tokenctl, "import", card.path("jo.pem")])
        }
        try card.succeed([tokenctl, "import", card.path("jo.key")] + password)
        try card.succeed([tokenctl, "create-keypair", "-a", "ec", "other"] + password)
        let uris = try card.uris("find-certificate", "-a", "login") + card.uris("find-key", "login")
        #expect(uris.count == 5)
        #expect(Set(uris).count == 5)
        for uri in uris {
            let listing = try card.succeed(
                ["p11tool", "--provider", ConsumerCard.module, "--login", "--list-all", uri], ["GNUTLS_PIN": "secret"])
            #expect(listing.split(separator: "\n").count { $0.contains("URL: ") } == 1, "\(uri): \(listing)")
        }
        for uri in uris where uri.contains("type=cert") {
            #expect(try card.uris("find-certificate", "-a", uri) == [uri])
        }
        for uri in uris where uri.contains("type=private") {
            #expect(try card.uris("find-key", "-t", "private", uri) == [uri])
        }
    }

    /// A URI of p11tool has more attributes, and names the same object.
    @Test func aURIOfAnotherProgramIsTaken() throws {
        let card = try ConsumerCard(["9A": .ecP256])
        let listing = try card.succeed([
            "p11tool", "--provider", ConsumerCard.module, "--list-all-certs", ConsumerCard.token,
        ])
        let line = try #require(listing.split(separator: "\n").first { $0.contains("URL: ") })
        let uri = String(line.drop { $0 != ":" }.dropFirst(2))
        #expect(uri.contains("object="))
        #expect(try card.uris("find-certificate", uri) == card.uris("find-certificate"))
        try card.succeed(
            [Program.command, "sign", "--key", "\(uri)?pin-value=\(ConsumerCard.pin)", "-o"]
                + [card.path("signature"), card.path("message")])
        try EngineCard(card).expectSignature(by: "9A")
    }

    /// OpenSSH of Debian 12 takes the module's path, and knows no URIs.
    @Test func openSSHTakesNoURI() throws {
        let card = try ConsumerCard(["9A": .ecP256])
        let uri = try #require(card.uris("find-key").first)
        #expect(try card.fail(["ssh-keygen", "-D", uri]).contains("is not a PKCS11 library"))
        #expect(try card.succeed(["ssh-keygen", "-D", ConsumerCard.module]).contains("PIV Authentication"))
    }
}

/// The URIs that tokenctl prints for the key in 9A.
private struct PrintedURIs: Equatable {
    let token: String
    let key: String
    let certificate: String
    let identity: String

    init(_ card: ConsumerCard, _ variables: [String: String] = [:]) throws {
        token = try #require(card.uris("list-smartcards", variables: variables).first)
        key = try #require(card.uris("find-key", variables: variables).first)
        certificate = try #require(card.uris("find-certificate", variables: variables).first)
        identity = try #require(card.uris("find-identity", "-v", variables: variables).first)
    }

    /// Signs with OpenSSL, GnuTLS and tokenctl, and has the certificate exported.
    func expectUse(
        _ engine: EngineCard, _ variables: [String: String] = [:], at location: SourceLocation = #_sourceLocation
    ) throws {
        let card = engine.card
        let source = "?pin-source=file:\(card.path("pin"))"
        for uri in [key, identity] {
            for value in [source, "?pin-value=\(ConsumerCard.pin)"] {
                try engine.openssl(
                    ["dgst", "-sha256"] + EngineCard.form
                        + ["-sign", uri + value, "-out", card.path("signature"), card.path("message")], variables,
                    at: location)
                try engine.expectSignature(by: "9A", at: location)
            }
            let tokenctl = Program.command
            try card.succeed(["chmod", "600", card.path("pin")], at: location)
            try card.succeed(
                [tokenctl, "sign", "--key", uri + source, "-o", card.path("signature"), card.path("message")],
                variables, at: location)
            try engine.expectSignature(by: "9A", at: location)
        }
        let p11tool = ["p11tool", "--provider", ConsumerCard.module]
        let pin = variables.merging(["GNUTLS_PIN": ConsumerCard.pin]) { $1 }
        let tried = try card.succeed(p11tool + ["--login", "--test-sign", key], pin, at: location)
        #expect(tried.contains("Verifying against public key in the token... ok"), sourceLocation: location)
        let exported = try card.output(of: p11tool + ["--export", certificate], variables, at: location)
        let read = try card.output(
            of: [Program.command, "export", "-k", certificate], variables, at: location)
        #expect(exported.split(separator: "\n") == read.split(separator: "\n"), sourceLocation: location)
        let listing = try card.succeed(p11tool + ["--list-all-certs", token], variables, at: location)
        #expect(listing.contains(";id=%01;"), sourceLocation: location)
    }
}
