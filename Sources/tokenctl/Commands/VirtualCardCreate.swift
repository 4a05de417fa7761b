internal import ArgumentParser
internal import Glibc
internal import Localization
internal import VirtualCard

extension VirtualCardCommand {
    /// The kinds of keys a card is made with.
    enum KeyAlgorithm: String, CaseIterable, ExpressibleByArgument {
        case rsa1024, rsa2048, rsa3072, rsa4096, p256, p384, ed25519, x25519

        var algorithm: CardAlgorithm {
            switch self {
            case .rsa1024: .rsa1024
            case .rsa2048: .rsa2048
            case .rsa3072: .rsa3072
            case .rsa4096: .rsa4096
            case .p256: .p256
            case .p384: .p384
            case .ed25519: .ed25519
            case .x25519: .x25519
            }
        }
    }

    /// A key and its slot, written `9A=p256`.
    struct KeySpecification: ExpressibleByArgument {
        let slot: CardKeyReference
        let algorithm: KeyAlgorithm

        init?(argument: String) {
            let parts = argument.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let number = UInt8(parts[0], radix: 16),
                let algorithm = KeyAlgorithm(rawValue: parts[1].lowercased())
            else { return nil }
            slot = CardKeyReference(rawValue: number)
            self.algorithm = algorithm
        }
    }

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make a card and keep it in a file.",
            discussion: """
                Its PIN is 123456 and its PUK 12345678, as on cards from the factory. Without further options it has no \
                keys. With --from it is the copy of a card whose data objects and keys lie in a folder: discovery.bin, \
                chuid.bin, auth-9a.crt, auth-9a.p12 and so on.
                """)

        @Argument(help: "The card's file.", completion: .file())
        var file: String

        @Option(help: "What kind of card, by the names that 'virtual-card profiles' lists.")
        var profile = "generic"

        @Option(help: "Make keys and certificates for 9A, 9C, 9D and 9E.")
        var algorithm: KeyAlgorithm?

        @Option(
            help: ArgumentHelp("One key and its certificate, as 9A=p256; for each key.", valueName: "slot=algorithm"))
        var key: [KeySpecification] = []

        @Option(help: "The name of its holder.")
        var holder: String?

        @Option(help: ArgumentHelp("Copy the card in this folder.", valueName: "folder"), completion: .directory)
        var from: String?

        @Option(
            help: ArgumentHelp(
                String(localized: "Its serial number. (default: \(VirtualCard.defaultSerialNumber))")))
        var serial: UInt32?

        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard from == nil || (algorithm == nil && key.isEmpty && holder == nil && serial == nil) else {
                throw ValidationError(
                    localized: "a copied card has its own keys, holder and number: leave out those options")
            }
        }

        func run() throws {
            guard let profile = CardProfile.named(profile) else {
                throw CommandError(
                    "there is no profile '\(profile)'", advice: "'tokenctl virtual-card profiles' lists them")
            }
            // The file may have the only copy of a card's keys.
            guard unsafe access(file, F_OK) != 0 else {
                throw CommandError("cannot make the card", "there is a file '\(file)'", advice: "choose another name")
            }
            try card(profile).save(to: file)
            if output.json { try Listing.showJSON(["file": file, "profile": profile.name]) }
        }

        private func card(_ profile: CardProfile) throws -> VirtualCard {
            if let from {
                return try CardImage.load(from).makeCard(profile: profile)
            }
            var builder =
                algorithm.map { VirtualCardBuilder(profile: profile, fourKeys: $0.algorithm) }
                ?? VirtualCardBuilder(profile: profile)
            let serial = serial ?? VirtualCard.defaultSerialNumber
            builder.serialNumber = serial
            if let holder { builder.holder = holder }
            for one in key { builder.keys[one.slot] = VirtualCardBuilder.Key(one.algorithm.algorithm) }
            guard !builder.keys.isEmpty else { return try VirtualCard(profile: profile, serialNumber: serial) }
            return try builder.build()
        }
    }
}
