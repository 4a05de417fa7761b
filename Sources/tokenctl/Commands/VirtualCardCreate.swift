internal import ArgumentParser
internal import VirtualCard

extension VirtualCardCommand {
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a card and keep it in a file.",
            discussion: "Its PIN is 123456 and its PUK 12345678, as on cards from the factory.")

        @Argument(help: "The card's file.")
        var file: String

        @Option(help: "What kind of card, by the names that 'virtual-card profiles' lists.")
        var profile = "generic"

        @Option(help: "Its serial number.")
        var serial: UInt32 = 7_654_321

        func run() throws {
            guard let profile = CardProfile.named(profile) else {
                throw ValidationError("there is no profile '\(profile)': 'virtual-card profiles' lists them")
            }
            try VirtualCard(profile: profile, serialNumber: serial).save(to: file)
        }
    }
}
