import SystemCrypto
import TestSupport
import Testing

/// A module that p11-kit runs elsewhere (`remote:`) is a keychain as a module in a file is.
@Suite struct RemoteModuleTests {
    private static let tokenctl = Program.command

    private let card: ConsumerCard

    init() throws {
        card = try ConsumerCard(["9A": .ecP256])
    }

    /// The command with p11-kit's configured modules, one of which is remote.
    private func withRemote(_ program: String, _ command: String..., variables: [String] = []) -> [String] {
        card.configured(
            "far", "remote: |\(program)", ["env", "-u", "TOKENKIT_MODULES"] + variables + [Self.tokenctl] + command)
    }

    @Test func itsKeySigns() throws {
        try card.succeed([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Far", "-keyout",
            card.path("far.key"), "-out", card.path("far.pem"),
        ])
        for (kind, file) in [("pkey", "far.key"), ("x509", "far.pem")] {
            try card.succeed([
                "openssl", kind, "-in", card.path(file), "-outform", "DER", "-out", card.path(file + ".der"),
            ])
        }
        let token = try SoftHSM([
            ["--write-object", card.path("far.key.der"), "--type", "privkey", "--id", "01", "--label", "far"],
            ["--write-object", card.path("far.pem.der"), "--type", "cert", "--id", "01", "--label", "far"],
        ])
        let program = "p11-kit remote \(SoftHSM.path)"
        let listing = try card.succeed(withRemote(program, "list-modules", variables: token.environment))
        #expect(listing.contains(/far +soft/), "\(listing)")
        let identities = try card.succeed(withRemote(program, "find-identity", "--table", variables: token.environment))
        #expect(identities.contains("\"Far\" [01 far on soft]"), "\(identities)")
        #expect(identities.contains(ConsumerCard.label), "\(identities)")
        try card.succeed(
            withRemote(
                program, "sign", "-k", "pkcs11:token=soft;id=%01?pin-value=123456", "-o", card.path("signature"),
                card.path("message"), variables: token.environment))
        try card.succeed([
            "sh", "-c", "openssl x509 -in \(card.path("far.pem")) -noout -pubkey >\(card.path("far.pub"))",
        ])
        let verdict = try card.succeed([
            "openssl", "dgst", "-sha256", "-verify", card.path("far.pub"), "-signature", card.path("signature"),
            card.path("message"),
        ])
        #expect(verdict.contains("Verified OK"))
    }

    @Test func oneThatCannotBeReachedHidesNoCard() throws {
        let output = try card.succeed(withRemote("/nowhere/at-all", "find-identity", "--table"))
        #expect(output.contains(ConsumerCard.label), "\(output)")
        #expect(output.contains("'far' cannot be used") || output.contains("module 'far"), "\(output)")
    }
}
