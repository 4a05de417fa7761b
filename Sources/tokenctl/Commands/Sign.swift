internal import Localization
internal import SecureBytes
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import SystemCrypto

struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign a file with a key on a card or in a local keychain.",
        discussion: """
            The signature is what 'openssl dgst -verify' takes: PKCS#1 or PSS bytes for RSA, a DER sequence for ECDSA, \
            64 bytes for Ed25519. A symmetric key makes an HMAC.
            """)

    @OptionGroup var key: KeyOptions
    @OptionGroup var signature: SignatureOptions

    @OptionGroup var destination: DestinationOptions

    @Argument(help: "The file to sign; - for standard input.", completion: .file())
    var file = "-"

    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        if destination.path == nil, !destination.output.json, Terminal.isInteractive {
            throw CommandError(
                "a signature is binary and is not written to a terminal",
                advice: "give a file for it with -o, or redirect the output")
        }
        let input = try Input(file, isStream: true)
        try Output(path: destination.path).check(sparing: file)
        let session = try key.place.session(cards)
        let key = try key.resolveAny(in: session, for: .signing)
        let keys = try authentication.keys(session, for: [self.key.key, cards.reader], to: "sign \(input.name)")
        switch key {
        case .pair(let key):
            let kind = try PublicKey(spki: key.publicKey).kind
            let algorithm = try signature.algorithm(for: kind)
            if input.isLong { try keys.askAhead(key.item) }
            let bytes =
                algorithm == .ed25519
                ? try input.whole(limit: Input.maximumMessage) : try input.digest(signature.digest)
            let result = try keys.perform(.sign(bytes), .signature(algorithm), with: key.item)
            try destination.write(result.secret, as: .base64("signature"), signature.facts(of: algorithm, kind))
        case .symmetric(let key):
            let algorithm = try signature.code(for: key)
            let code = try keys.perform(.sign(input.whole(limit: Input.maximumMessage)), algorithm, with: key)
            try destination.write(
                code.secret, as: .base64("signature"), ["algorithm": "HMAC", "digest": signature.digest.rawValue])
        }
    }
}

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a signature over a file.",
        discussion: "Prints 'Verified OK' and ends with 0, or says why not and ends with 32; with --json, with 1.")

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The key that should have made it, as for sign.", valueName: "key"),
        completion: Completions.keys)
    var key: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The certificate of the key, PEM or DER, or its pkcs11: URI.", valueName: "file"),
        completion: .file())
    var certificate: String?

    @OptionGroup var place: KeyPlaceOptions

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The file with the signature.", valueName: "file"), completion: .file())
    var signature: String

    @OptionGroup var options: SignatureOptions

    @Argument(help: "The file that was signed; - for standard input.", completion: .file())
    var file = "-"

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard (key == nil) != (certificate == nil) else {
            throw ValidationError(localized: "give either the key (--key) or its certificate (--certificate)")
        }
        guard key != nil || place.keychain == nil else {
            throw ValidationError(localized: "--keychain is where the key (--key) is looked for, not the certificate")
        }
        guard signature != "-" || file != "-" else {
            throw ValidationError(localized: "the file and its signature cannot both be standard input")
        }
    }

    func run() throws {
        let isValid = try isValid()
        if output.json {
            try Listing.showJSON(["isValid": isValid])
            if !isValid { throw ExitCode(1) }
            return
        }
        guard isValid else {
            throw KeychainError(.verifyFailed, "the signature does not match this file, key and options")
        }
        StandardOutput.line("Verified OK")
    }

    private func isValid() throws -> Bool {
        if let certificate {
            guard let first = try CertificateFile.read(certificate, cards).first, let key = first.publicKey
            else {
                throw CommandError(
                    "'\(CertificateFile.name(of: certificate))' holds no certificate with a key that can be used")
            }
            return try isValid(by: key)
        }
        var named = KeyOptions()
        (named.key, named.place) = (key ?? "", place)
        let session = try place.session(cards)
        let use: LocalizedText = "check \(file == "-" ? String(localized: "standard input") : file)"
        let keys = try authentication.keys(session, for: [named.key], to: use)
        switch try named.resolvePublic(in: session, keys) {
        case .key(let key): return try isValid(by: key)
        case .symmetric(let key):
            let algorithm = try options.code(for: key)
            let code = try Input(signature).whole()
            let message = try Input(file, isStream: true).whole(limit: Input.maximumMessage)
            do throws(KeychainError) {
                _ = try keys.perform(.verify(code, of: message), algorithm, with: key)
                return true
            } catch {
                guard error.code == .verifyFailed else { throw error }
                return false
            }
        }
    }

    private func isValid(by publicKey: PublicKey) throws -> Bool {
        let algorithm = try options.algorithm(for: publicKey.kind).withAnySalt
        let signature = try Input(signature).whole()
        let input = try Input(file, isStream: true)
        let bytes =
            algorithm == .ed25519 ? try input.whole(limit: Input.maximumMessage) : try input.digest(options.digest)
        return try publicKey.verify(signature, of: bytes, using: algorithm)
    }
}
