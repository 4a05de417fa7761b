/// A make of card, as data: its announcements, its abilities, and its differences from the standard.
public struct CardProfile: Sendable, Hashable {
    /// The name by which a stored card remembers its profile.
    public internal(set) var name: String

    /// The answer to reset.
    public var atr: [UInt8]
    public var transport = CardTransport()

    /// The application label in the SELECT answer, tag `50`; nil for none.
    public var label: String?

    /// The algorithm identifiers in the SELECT answer, tag `AC`.
    public var announcedAlgorithms: [UInt8] = []

    /// The version of Yubico's extensions that the card claims; nil for a card without them.
    public var firmware: Firmware?

    /// Instructions beyond those of SP 800-73; a copy of a card may claim a version and lack them.
    var extensions: Set<Instruction> = []

    public var algorithms: Set<CardAlgorithm> = [
        .tripleDES, .aes128, .aes192, .aes256, .rsa1024, .rsa2048, .p256, .p384,
    ]

    /// The management key's algorithm on a new card.
    public var managementAlgorithm = CardAlgorithm.tripleDES

    /// The number of tries of a new card's PIN and PUK.
    public var tries: UInt8 = 3

    /// The key references that exist.
    public var keyReferences: Set<CardKeyReference>

    /// Bytes of the largest data object.
    public var objectLimit = 16_384

    /// Whether a new card has a discovery object.
    public var hasDiscovery = true

    /// The time that the card takes to answer that an object is absent.
    public var absentObjectDelay = Duration.zero

    public var quirks: Set<CardQuirk> = []

    /// A card as SP 800-73-4 has it, with the three common curves and RSA sizes and no extension.
    public init(name: String, atr: [UInt8]) {
        self.name = name
        self.atr = atr
        keyReferences = Set(CardKeyReference.keyPairs).subtracting([.attestation])
    }

    func has(_ quirk: CardQuirk) -> Bool { quirks.contains(quirk) }

    func knows(_ instruction: Instruction) -> Bool {
        Instruction.standard.contains(instruction) || extensions.contains(instruction)
    }

    /// The key reference of the PIV PIN.
    var pinReference: PINReference { has(.pinUnderGlobalReference) ? .global : .application }

    /// Whether the card has Yubico's PIN and touch policies and objects.
    var hasPolicies: Bool { extensions.contains(.importKey) }
}
