import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost

/// The `openssl` command takes signatures and ciphertexts that are made here, and the other way round.
@Suite struct OpenSSLInteroperabilityTests {
    private let folder: TemporaryFolder
    private let message = Array("a message for both".utf8)

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("message", message)
    }

    private func openssl(_ arguments: String...) throws -> ProgramResult {
        let files = ["message", "public.pem", "private.pem", "signature", "ciphertext", "plaintext"]
        return try Program.run(["openssl"] + arguments.map { files.contains($0) ? folder.path($0) : $0 })
    }

    /// A key on a card. Writes its public half to a file.
    private func onCard(_ algorithm: CardAlgorithm, _ name: String) throws -> any KeychainKey {
        let desk = try Desk(TestCard(profile: .yubiKey57, algorithm: algorithm))
        let key = try desk.key(name)
        try folder.write("public.pem", PublicKey(spki: key.publicKey).pem)
        return key
    }

    @Test(arguments: [DigestAlgorithm.sha1, .sha256, .sha512]) func itVerifiesWhatACardSigned(digest: DigestAlgorithm)
        throws
    {
        let name = "-\(digest.rawValue)"
        let rsa = try onCard(.rsa2048, "9A")
        let rows: [(KeyAlgorithm, [String])] = [
            (.messageSignature(.rsaPKCS1(digest)), []),
            (
                .messageSignature(.rsaPSS(digest)),
                ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]
            ),
        ]
        for (algorithm, options) in rows {
            try folder.write("signature", rsa.signed(message, algorithm))
            let files = ["-verify", folder.path("public.pem"), "-signature", folder.path("signature")]
            let result = try Program.run(["openssl", "dgst", name] + options + files + [folder.path("message")])
            #expect(result.status == 0, "\(algorithm): \(result)")
        }
        for algorithm in [CardAlgorithm.p256, .p384] {
            let ec = try onCard(algorithm, "9A")
            try folder.write("signature", ec.signed(message, .messageSignature(.ecdsa(digest))))
            let result = try openssl("dgst", name, "-verify", "public.pem", "-signature", "signature", "message")
            #expect(result.status == 0, "\(algorithm): \(result)")
        }
    }

    @Test(arguments: [DigestAlgorithm.sha1, .sha256]) func aCardOpensWhatItEncrypted(digest: DigestAlgorithm) throws {
        let key = try onCard(.rsa2048, "9D")
        let result = try openssl(
            "pkeyutl", "-encrypt", "-pubin", "-inkey", "public.pem", "-in", "message", "-out", "ciphertext",
            "-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:\(digest.rawValue)")
        #expect(result.status == 0, "\(result)")
        #expect(try key.decrypted(folder.read("ciphertext"), .encryption(.oaep(digest))) == message)
        _ = try openssl(
            "pkeyutl", "-encrypt", "-pubin", "-inkey", "public.pem", "-in", "message", "-out", "ciphertext")
        #expect(try key.decrypted(folder.read("ciphertext"), .encryption(.pkcs1)) == message)
    }

    @Test func itOpensWhatWasEncryptedHere() throws {
        let pair = try TestKey.named("anna", .rsa(bits: 2048)).privateKey
        try folder.write("private.pem", try PEM.encode(pair.pkcs8(), label: "PRIVATE KEY").copiedBytes)
        let key = SoftwareKey(pair)
        for (algorithm, options) in [
            (KeyAlgorithm.encryption(.pkcs1), []),
            (.encryption(.oaep(.sha256)), ["-pkeyopt", "rsa_padding_mode:oaep", "-pkeyopt", "rsa_oaep_md:sha256"]),
        ] {
            try folder.write("ciphertext", key.encrypt(message.span, using: algorithm))
            let files = ["-inkey", folder.path("private.pem"), "-in", folder.path("ciphertext")]
            let result = try Program.run(["openssl", "pkeyutl", "-decrypt"] + files + options)
            #expect(result.output == message, "\(algorithm): \(result)")
        }
    }

    @Test func bothAgreeOnASecret() throws {
        let key = try onCard(.p256, "9D")
        let peer = try PrivateKey.generate(.ecP256)
        try folder.write("private.pem", try PEM.encode(peer.pkcs8(), label: "PRIVATE KEY").copiedBytes)
        let result = try openssl("pkeyutl", "-derive", "-inkey", "private.pem", "-peerkey", "public.pem")
        #expect(
            result.output == (try key.exchanged(peer.publicKey.rawRepresentation, .keyExchange(.standard, nil))),
            "\(result)")
    }
}
