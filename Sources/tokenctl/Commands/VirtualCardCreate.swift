internal import ArgumentParser
internal import VirtualCard

extension VirtualCardCommand {
    /// The kinds of keys a card is made with.
    enum KeyAlgorithm: String, CaseIterable, ExpressibleByArgument {
        case rsa1024, rsa2048, rsa3072, rsa4096, p256, p384

        var algorithm: CardAlgorithm {
            switch self {
            case .rsa1024: .rsa1024
            case .rsa2048: .rsa2048
            case .rsa3072: .rsa3072
            case .rsa4096: .rsa4096
            case .p256: .p256
            case .p384: .p384
            }
        }
    }

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a card and keep it in a file.",
            discussion: """
                Its PIN is 123456 and its PUK 12345678, as on cards from the factory. Without further options it has no \
                keys. With --from it is the copy of a card whose data objects and keys lie in a folder: discovery.bin, \
                chuid.bin, auth-9a.crt, auth-9a.p12 and so on.
                """)

        @Argument(help: "The card's file.")
        var file: String

        @Option(help: "What kind of card, by the names that 'virtual-card profiles' lists.")
        var profile = "generic"

        @Option(help: "Make keys and certificates for 9A, 9C, 9D and 9E.")
        var algorithm: KeyAlgorithm?

        @Option(help: "The name of its holder.")
        var holder: String?

        @Option(help: ArgumentHelp("Copy the card in this folder.", valueName: "folder"))
        var from: String?

        @Option(help: "Its serial number.")
        var serial = VirtualCard.defaultSerialNumber

        func validate() throws {
            guard from == nil || (algorithm == nil && holder == nil) else {
                throw ValidationError("a copied card has its own keys and holder: leave out --algorithm and --holder")
            }
        }

        func run() throws {
            guard let profile = CardProfile.named(profile) else {
                throw ValidationError("there is no profile '\(profile)': 'virtual-card profiles' lists them")
            }
            try card(profile).save(to: file)
        }

        private func card(_ profile: CardProfile) throws -> VirtualCard {
            if let from {
                return try CardImage.load(from).makeCard(profile: profile)
            }
            var builder =
                algorithm.map { VirtualCardBuilder(profile: profile, fourKeys: $0.algorithm) }
                ?? VirtualCardBuilder(profile: profile)
            builder.serialNumber = serial
            if let holder { builder.holder = holder }
            guard algorithm != nil else { return try VirtualCard(profile: profile, serialNumber: serial) }
            return try builder.build()
        }
    }
}
