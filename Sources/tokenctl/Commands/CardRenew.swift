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
                (YubiKeys can from 5.7) gives up the old key before it makes the new one, which --replace agrees to. After an \
                interruption 'card info' shows where each key is, and 'card move' puts it in its place.
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

        @OptionGroup var weakness: WeakKeyOptions
        @OptionGroup var replacement: ReplacementOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func run() throws {
            let card = try administration.card()
            guard let old = try card.slot(slot.name), let key = old.key,
                let certificate = try old.certificate.map({ try Certificate(der: $0) }),
                let name = certificate.commonName
            else {
                throw KeychainError(
                    .itemNotFound, "slot \(slot.name) has no key with a certificate for a name",
                    remedy: try card.remedy(forMissingKeyIn: slot.name))
            }
            let facts = try card.host.managementKey(of: card.identifier, .silent)
            let kind = try algorithm?.kind ?? PublicKey(spki: key.publicKey).kind
            let policies = KeyPolicies(
                pin: key.pinPolicy, touch: key.touchPolicy == .unknown ? nil : key.touchPolicy)
            let use = facts.keyPlaces.first { $0.slot == slot.name }?.use ?? .retirement
            guard facts.movesKeys else {
                try card.change(
                    .generateKey(
                        slot: slot.name, kind, KeyPolicies(), replacing: replacement.replacing,
                        allowsWeak: weakness.allowWeakKey))
                try card.selfSign(slot.name, for: use, commonName: name, days: days)
                return try card.report("Slot \(slot.name) has a new key.", of: slot, output)
            }
            let free = try card.freeSlots(facts)
            guard free.count > 1 else {
                throw KeychainError(
                    .noSuchKeychain, "the card has no two free retired slots", remedy: "delete an old key")
            }
            try card.change(
                .generateKey(
                    slot: free[0], kind, policies, replacing: .none, allowsWeak: weakness.allowWeakKey))
            try card.selfSign(free[0], for: use, commonName: name, days: days)
            try card.change(.moveKey(slot: slot.name, to: free[1]))
            try card.change(.moveKey(slot: free[0], to: slot.name))
            guard certificate.isForDecryption else {
                try card.change(.deleteKey(slot: free[1], replacing: .any))
                return try card.report("Slot \(slot.name) has a new key.", of: slot, output)
            }
            try card.report(
                "Slot \(slot.name) has a new key. The old one is in slot \(free[1]), for what was encrypted for it.",
                of: slot, output)
        }
    }
}

extension AdministeredCard {
    /// The advice where a slot has no key to be renewed. An interrupted renewal leaves the new key in a retired slot, and the old one in another.
    fileprivate func remedy(forMissingKeyIn slot: String) throws(KeychainError) -> LocalizedText {
        let retired = try host.managementKey(of: identifier, .silent).keyPlaces.filter { $0.use == .retirement }
        let moved = try host.card(identifier, telling: .slots, .silent).slots.filter { known in
            known.key != nil && known.certificate != nil && retired.contains { $0.slot == known.name }
        }
        guard let newest = moved.max(by: { $0.validFrom < $1.validFrom }) else {
            return "use 'card generate' and 'card self-sign'"
        }
        return
            "if a renewal was interrupted, 'card move \(newest.name) \(slot)' puts the newest of the retired keys there"
    }

    /// The retired slots without a key.
    fileprivate func freeSlots(_ facts: CardManagementKeyStatus) throws(KeychainError) -> [String] {
        let used = try host.card(identifier, telling: .slots, .silent).slots.map(\.name)
        return facts.keyPlaces.filter { $0.use == .retirement && !used.contains($0.slot) }.map(\.slot)
    }
}

extension Certificate {
    fileprivate var isForDecryption: Bool {
        keyUsage?.isDisjoint(with: [.keyEncipherment, .dataEncipherment, .keyAgreement]) == false
    }
}

extension CardSlot {
    /// Start of the certificate's validity, in seconds since 1970.
    fileprivate var validFrom: Int64 { certificate.flatMap { try? Certificate(der: $0) }?.notBefore ?? .min }
}
