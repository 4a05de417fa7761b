internal import KeychainModel
internal import HostAPI
internal import ArgumentParser
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct Encrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt",
        abstract: "Encrypt a message for an RSA key, or with a symmetric key of a local keychain.",
        discussion: """
            A symmetric key takes AES-GCM: an initialisation vector of 12 bytes, then the ciphertext, then the tag of 16 \
            bytes.
            """)

    @OptionGroup var key: KeyOptions
    @OptionGroup var options: EncryptionOptions
    @OptionGroup var destination: DestinationOptions

    @Argument(help: "The message; - for standard input.", completion: .file())
    var file = "-"

    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        if destination.path == nil, !destination.output.json, Terminal.isInteractive {
            throw CommandError(
                "encrypted data is binary and is not written to a terminal",
                advice: "give a file for it with -o, or redirect the output")
        }
        let input = try Input(file, isStream: true)
        try Output(path: destination.path).check(sparing: file)
        let session = try key.place.session(cards)
        let ciphertext: [UInt8]
        let keys = try authentication.keys(session, for: [self.key.key], to: "encrypt \(input.name)")
        switch try key.resolvePublic(in: session, keys) {
        case .key(let key):
            try options.check(for: key.kind.description, isRSA: key.kind.isRSA)
            let message = try input.whole()
            ciphertext = try keys.encrypt(message, .encryption(options.algorithm), for: key)
        case .symmetric(let key):
            try options.check(for: key.keyType.symmetricName, isRSA: false)
            let message = try input.whole(limit: Input.maximumMessage)
            let sealed = try keys.perform(
                .encrypt(SharedSecret(Secret(copying: message.span))), .aesGCM, with: key)
            ciphertext = sealed.secret.copied()
        }
        try destination.write(ciphertext, as: .base64("ciphertext"))
    }
}

struct Decrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Decrypt a message with an RSA key on a card or in a local keychain, or with a symmetric key.",
        discussion: """
            With pkcs1 a message of another key gives random bytes, not an error, as an error would help attackers; tokens \
            of other modules may give one. For a symmetric key the message is what 'encrypt' makes.
            """)

    @OptionGroup var key: KeyOptions
    @OptionGroup var options: EncryptionOptions
    @OptionGroup var destination: DestinationOptions

    @Argument(help: "The encrypted message; - for standard input.", completion: .file())
    var file = "-"

    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let input = try Input(file, isStream: true)
        try Output(path: destination.path).check(sparing: file)
        let session = try key.place.session(cards)
        let key = try key.resolveAny(in: session)
        let keys = try authentication.keys(session, for: [self.key.key, cards.reader], to: "decrypt \(input.name)")
        switch key {
        case .pair(let key):
            let publicKey = try PublicKey(spki: key.publicKey)
            try options.check(for: publicKey.kind.description, isRSA: publicKey.kind.isRSA)
            let message = try input.whole()
            try write(keys.perform(.decrypt(message), .encryption(options.algorithm), with: key.item))
        case .symmetric(let key):
            try options.check(for: key.keyType.symmetricName, isRSA: false)
            let message = try input.whole(limit: Input.maximumCiphertext)
            try write(keys.perform(.decrypt(message), .aesGCM, with: key))
        }
    }

    private func write(_ plaintext: SharedSecret) throws {
        try destination.write(plaintext.secret, mode: 0o600, as: .base64("plaintext"))
    }
}
