internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct CreateCSR: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-csr", abstract: "Request a certificate for a key on a card or in a local keychain.",
        discussion: "The request is PKCS#10 in PEM, signed by the key itself.")

    @OptionGroup var key: KeyOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let session = try key.place.session(cards)
        let key = try key.resolve(in: session)
        let keys = try authentication.keys(session, for: [self.key.key, cards.reader], to: "sign a request")
        try request.write(for: key, to: destination) { message, algorithm in
            try keys.perform(.sign(message), .messageSignature(algorithm), with: key.item).secret.copied()
        }
    }
}

extension Card {
    struct Request: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "request", abstract: "Request a certificate for the key in a slot.",
            discussion: """
                The request is PKCS#10 in PEM, signed by the key itself. An authority makes a certificate of it, which \
                'card put-certificate' puts beside the key. 'create-csr' does the same for a key by its name.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @OptionGroup var request: RequestOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var cards: CardOptions
        @OptionGroup var authentication: AuthenticationOptions

        func run() throws {
            try Output(path: destination.path).check()
            let session = try CommandKeychains(cards, files: false)
            let prompter = try authentication.prompter(for: [cards.reader].compactMap { $0 }, session.access)
            let card = try AdministeredCard(
                session, AdministratorAnswers(prompter), .found, authentication.request(to: "sign a request"))
            let key = try card.key(in: slot.name)
            try request.write(for: key, to: destination) { message, algorithm in
                try card.sign(message, algorithm, with: key)
            }
        }
    }
}
