public import TokenKit

/// A PIV card while it stays inserted.
public struct PIVToken: Token {
    static let driverName = "piv"

    let atr: ATR
    let application: ApplicationTemplate
    let quirks: PIVQuirks
    let memory: (any TokenMemory)?
    let certificates: (any TokenMemory)?
    let rejectedPINs: (any TokenMemory)?
    let provesBeforePIN: @Sendable () -> Bool

    public var pinRules: PINRules {
        PINRules(
            lengths: PINBlock.lengths, onlyDigits: !quirks.has(.anyPINCharacters), entry: PINBlock.entry)
    }

    public var bindingKey: TokenObjectID? { PIVSlot.keyManagement.objectID }

    public func selection(ofCryptokiID id: [UInt8]) -> TokenSelection? {
        PIVSlot.allCases.first { $0.cryptokiID == id }.map { .object($0.objectID) }
    }

    var selection: Selection
    public var pins = PINSession()
    var cardholderPIN = CardholderPIN()
    var knowledge: Knowledge

    /// The epoch in which the application was selected.
    struct Selection: Sendable {
        var epoch: Int

        /// Whether the application answered in this transaction, so that no other can have been selected since.
        var isConfirmed: Bool
    }

    /// The PIN that the cardholder knows, as the card describes it.
    struct CardholderPIN: Sendable {
        /// The reference of the PIN; nil until it is known.
        var reference: PINReference?

        /// Whether the unblocking key unblocks the PIN. It does not unblock that of a whole card with several applications.
        var isUnblockable = true

        /// The metadata of the present PIN; nil until a card with metadata has told them.
        var metadata: PINMetadata?
    }

    /// The facts that have been read from the card. They are kept until the card is taken out.
    struct Knowledge: Sendable {
        /// The objects of the slots that were read; nil for an empty slot.
        var slots: [PIVSlot: TokenObject?] = [:]
        var metadata: [PIVSlot: KeyMetadata?] = [:]
        /// The keys that are known by metadata alone. They are kept, since OpenSSL takes longer to make a key than a transaction
        /// takes.
        var bareKeys: [PIVSlot: TokenKey] = [:]
        /// Keys that are remembered from the card's last reading, and not yet confirmed by a signature.
        var rememberedKeys: [PIVSlot: TokenKey] = [:]
        /// Whether the card has proved that it holds the key by which it is known.
        var isProven = false
        /// The time at which a signature of the slot's key was last found to be right.
        var signatures: [PIVSlot: ContinuousClock.Instant] = [:]
        /// The objects that have been read, in whole or in part.
        var present: Set<PIVContainer> = []
        var chuid: Once<CardholderIdentifier?> = .unknown
        var keyHistory: Once<KeyHistory?> = .unknown
        var firmware: Once<Firmware?> = .unknown
        var serialNumber: Once<UInt32?> = .unknown
        var metadataSupport: MetadataSupport
        /// Slots of which a card with metadata tells nothing, not even that they are empty.
        var untold: Set<PIVSlot> = []
        var attests: Bool
        var identity: TokenID?
        /// The remembered identity, once it is used.
        var rememberedIdentity: TokenIdentity?

        /// The record of the card from an earlier reading.
        var remembered: Once<RememberedCard?> = .unknown

        /// The answers to GET DATA with certificates, for the memory of the card.
        var answers: [PIVSlot: [UInt8]] = [:]
        /// The answers to GET METADATA about keys, for the memory of the card.
        var keyAnswers: [PIVSlot: [UInt8]] = [:]

        /// Whether GET METADATA is expected to be answered.
        var tellsMetadata: Bool {
            switch metadataSupport {
            case .unknown: false
            case .believed(let isThere), .seen(let isThere): isThere
            }
        }

        /// Notes a signature that was right: the slot holds this key.
        mutating func signed(_ slot: PIVSlot, with key: TokenKey) {
            signatures[slot] = .now
            if slots[slot] == nil { bareKeys[slot] = key }
        }

        /// Whether a signature was found to be right within the last second, so that the slot cannot hold another key yet.
        func hasJustSigned(_ slot: PIVSlot) -> Bool { signatures[slot].map { .now - $0 < .seconds(1) } ?? false }

        mutating func forget(_ slot: PIVSlot) {
            slots.removeValue(forKey: slot)
            metadata.removeValue(forKey: slot)
            untold.remove(slot)
            bareKeys.removeValue(forKey: slot)
            rememberedKeys.removeValue(forKey: slot)
            signatures.removeValue(forKey: slot)
        }
    }

    init(
        atr: ATR, application: ApplicationTemplate, selectedIn card: borrowing CardTransaction,
        memory: (any TokenMemory)?, certificates: (any TokenMemory)?, rejectedPINs: (any TokenMemory)?,
        provesBeforePIN: @escaping @Sendable () -> Bool
    ) {
        self.atr = atr
        self.application = application
        self.memory = memory
        self.certificates = certificates
        self.rejectedPINs = rejectedPINs
        self.provesBeforePIN = provesBeforePIN
        quirks = PIVQuirks(of: atr, application)
        selection = Selection(epoch: card.epoch, isConfirmed: true)
        knowledge = Knowledge(
            metadataSupport: quirks.has(.mayTellMetadata) ? .believed(true) : .unknown, attests: quirks.has(.mayAttest))
        announceLengths(to: card.link)
    }

    /// Tells the card's link how long commands may be. ISO/IEC 7816-4 §12.7.1.
    func announceLengths(to link: CardLink) {
        if let limits = application.lengthLimits { link.allowExtendedLength(commandLimit: limits.command) }
    }
}

/// Whether the card answers GET METADATA. Cards of several makers do, and no answer to reset shows it.
enum MetadataSupport: Hashable, Sendable {
    case unknown
    /// Assumed by the card's make, or from its last reading.
    case believed(Bool)
    case seen(Bool)
}

/// A fact that is read at most once.
enum Once<Value: Sendable>: Sendable {
    case unknown
    case known(Value)
}
