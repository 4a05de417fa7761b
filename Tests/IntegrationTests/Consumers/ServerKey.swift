import SystemCrypto
import TestSupport
import Testing

/// The kind of token that has a key which a program uses through the module.
enum ConsumerToken: CaseIterable, Sendable {
    case card, keychain
}

/// A key of a server, on a card or in a keychain, as OpenSSL's engine loads it.
struct ServerKey {
    let card: ConsumerCard

    /// The key's URI, with the PIN or the password.
    let uri: String

    /// The file of its certificate, which names localhost.
    let certificate: String

    /// The file of the certificate that clients have to trust.
    let authority: String

    /// The environment variables that the engine needs.
    let variables: [String: String]

    init(_ token: ConsumerToken, _ kind: KeyKind) throws {
        card = try ConsumerCard(["9A": kind])
        switch token {
        case .card:
            uri = "\(ConsumerCard.token);id=%01;type=private?pin-value=\(ConsumerCard.pin)"
            (certificate, authority) = (card.path("9A.pem"), card.path("ca.pem"))
            variables = ["TOKENKIT_PKCS11_TOKENS": "cards"]
        case .keychain:
            uri = "pkcs11:token=login;object=server;type=private?pin-value=\(ConsumerCard.pin)"
            let options =
                switch kind {
                case .rsa(let bits): ["rsa:\(bits)"]
                default: ["ec", "-pkeyopt", "ec_paramgen_curve:\(kind == .ecP256 ? "P-256" : "P-384")"]
                }
            (certificate, authority) = (card.path("server.pem"), card.path("server.pem"))
            try card.succeed(
                ["openssl", "req", "-x509", "-nodes", "-subj", "/CN=localhost", "-newkey"] + options + [
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", card.path("server.key"), "-out", certificate,
                ])
            try card.createKeychain(password: ConsumerCard.pin, keys: [card.path("server.key")], label: "server")
            variables = ["TOKENKIT_PKCS11_TOKENS": "keychains"]
        }
    }
}

extension ProgramsOfAConsumer {
    /// Makes the keychain `login`, and imports certificates and private keys from files.
    func createKeychain(
        password: String, certificates: [String] = [], keys: [String], label: String? = nil
    ) throws {
        let tokenctl = Program.command
        try succeed([tokenctl, "create-keychain", "-p", password])
        let given = ["TEST_PASSWORD": password]
        for file in certificates + keys {
            try succeed(
                [tokenctl, "import", file, "--pin-source", "env:TEST_PASSWORD"] + (label.map { ["-l", $0] } ?? []),
                given)
        }
    }
}
