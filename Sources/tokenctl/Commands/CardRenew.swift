internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct Renew: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "renew", abstract: "Give a slot a new key, with a certificate for the same name.",
            discussion: """
                The new key is made in a free retired slot, and takes the place of the old one once it has its certificate. An old key \
                that decrypts stays on the card, in another retired slot; any other one is deleted then. A card that cannot move keys \
                (YubiKeys can from 5.7) gives up the old key before it makes the new one, which --replace agrees to. The new key has \
                the policies of the old one where the card tells them, as YubiKeys do from 5.3. After an interruption the same \
                command finishes the renewal.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("The kind of key, instead of that of the old one.", valueName: "kind"))
        var algorithm: CardKeyKind?

        @Option(
            name: .letter("d"),
            help: ArgumentHelp("For how many days from now the certificate is valid.", valueName: "days"))
        var days: UInt16 = 3650

        @OptionGroup var policy: KeyPolicyOptions
        @OptionGroup var weakness: WeakKeyOptions
        @OptionGroup var replacement: ReplacementOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            guard algorithm?.kind != .x25519 else {
                throw ValidationError(localized: "x25519 keys sign no certificates: make them with 'card generate'")
            }
            try SelfSign.check(days: days)
        }

        func run() throws {
            let card = try administration.card()
            try card.requireSlot(slot.name)
            let facts = try card.host.managementKey(of: card.identifier, .silent)
            let renewal = CardRenewal(
                card: card, facts: facts, slot: slot.name, kind: algorithm?.kind, days: days,
                policies: policy.policies, allowsWeak: weakness.allowWeakKey, replacing: replacement.replacing)
            let kept = try facts.movesKeys ? renewal.besideOldKey() : renewal.inPlaceOfOldKey()
            try card.report(
                kept.map {
                    "Slot \(slot.name) has a new key. The old one is in slot \($0), for what was encrypted for it."
                } ?? "Slot \(slot.name) has a new key.",
                of: slot, output)
        }
    }
}
