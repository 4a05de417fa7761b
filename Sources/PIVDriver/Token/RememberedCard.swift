internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A card as it was last read: its identity, and its answers with certificates and keys.
///
///     80 version · 81 instance · 82 label · 83 manufacturer · 84 model · 85 serial number · 86 card version
///     87 whether it has metadata, if that is known · 88 reference of the cardholder's PIN, by metadata or the Discovery Object
///     89 { the key by which the card is to be known again, as it was when the card was first read }
///     A0 { 80 slot · 81 answer to GET DATA, if any · 82 answer to GET METADATA, if any } …
struct RememberedCard: Hashable, Sendable {
    var identity: TokenIdentity
    var objects: [PIVSlot: [UInt8]]
    var metadata: [PIVSlot: [UInt8]]
    var tellsMetadata: Bool?
    var pinReference: PINReference?
    var proofKey: ProofKey?

    private static let version: UInt8 = 3

    init(
        identity: TokenIdentity, objects: [PIVSlot: [UInt8]], metadata: [PIVSlot: [UInt8]] = [:],
        tellsMetadata: Bool? = nil, pinReference: PINReference? = nil, proofKey: ProofKey? = nil
    ) {
        self.proofKey = proofKey
        self.tellsMetadata = tellsMetadata
        self.pinReference = pinReference
        self.identity = identity
        self.objects = objects
        self.metadata = metadata
    }

    /// Whether only the card's identity is remembered.
    var isEmpty: Bool { objects.isEmpty && metadata.isEmpty }

    /// Takes over what was read of the card, but for slots whose memory another program has changed meanwhile.
    ///
    /// - Parameter former: the memory before the card was read.
    mutating func merge(_ card: RememberedCard, readAfter former: RememberedCard?) {
        for slot in PIVSlot.allCases {
            if objects[slot] == former?.objects[slot] { objects[slot] = card.objects[slot] }
            if metadata[slot] == former?.metadata[slot] { metadata[slot] = card.metadata[slot] }
        }
        identity = card.identity
        tellsMetadata = card.tellsMetadata ?? tellsMetadata
        pinReference = card.pinReference ?? pinReference
        proofKey = proofKey ?? card.proofKey
    }

    /// Nil for bytes of another version.
    init?(parsing bytes: [UInt8]) {
        var reader = TLVReader(bytes)
        guard let fields = try? reader.all(), fields.first == TLV(0x80, [RememberedCard.version]) else { return nil }
        func text(_ tag: TLVTag) -> String? {
            fields.first { $0.tag == tag }.flatMap { String(validating: $0.value, as: UTF8.self) }
        }
        guard let instance = text(0x81), !instance.isEmpty, let label = text(0x82) else { return nil }
        identity = TokenIdentity(
            id: TokenID(driver: PIVToken.driverName, instance: instance), label: label, manufacturer: text(0x83),
            model: text(0x84) ?? PIVToken.plainModel, serialNumber: text(0x85), version: text(0x86))
        func octet(_ tag: TLVTag) -> UInt8? {
            fields.first { $0.tag == tag && $0.value.count == 1 }?.value[0]
        }
        tellsMetadata = octet(0x87).map { $0 == 1 }
        pinReference = octet(0x88).flatMap { PINReference(rawValue: $0) }
        proofKey = fields.first { $0.tag == 0x89 }.flatMap { ProofKey(parsing: $0.value) }
        objects = [:]
        metadata = [:]
        for field in fields where field.tag == 0xA0 {
            guard var parts = try? field.children(), let slot = try? parts.require(0x80),
                slot.value.count == 1, let known = PIVSlot(rawValue: slot.value[0]), let answers = try? parts.all()
            else { return nil }
            objects[known] = answers.first { $0.tag == 0x81 }?.value
            metadata[known] = answers.first { $0.tag == 0x82 }?.value
        }
    }

    func encoded() -> [UInt8] {
        let texts: [(TLVTag, String?)] = [
            (0x81, identity.id.instance), (0x82, identity.label), (0x83, identity.manufacturer),
            (0x84, identity.model), (0x85, identity.serialNumber), (0x86, identity.version),
        ]
        var fields = [TLV(0x80, [RememberedCard.version])]
        fields += texts.compactMap { tag, text in text.map { TLV(tag, Array($0.utf8)) } }
        if let tellsMetadata { fields.append(TLV(0x87, [tellsMetadata ? 1 : 0])) }
        if let pinReference { fields.append(TLV(0x88, [pinReference.rawValue])) }
        if let proofKey { fields.append(TLV(0x89, proofKey.encoded())) }
        let slots = Set(objects.keys).union(metadata.keys).sorted { $0.rawValue < $1.rawValue }
        fields += slots.map { slot in
            let answers = [objects[slot].map { TLV(0x81, $0) }, metadata[slot].map { TLV(0x82, $0) }]
            return TLV(0xA0, [TLV(0x80, [slot.rawValue])] + answers.compactMap { $0 })
        }
        return fields.flatMap { $0.encoded() }
    }

    /// The certificates and their keys.
    var inventory: TokenInventory {
        let slots = PIVSlot.primary + PIVSlot.retired
        return TokenInventory(
            objects: slots.compactMap { slot in
                certificate(in: slot).flatMap {
                    SlotKey.object(slot, certificate: $0.der, key: SlotKey.key(certificate: $0, in: slot))
                }
            })
    }

    /// The key of a slot: by the card's metadata, or, where the card has none, by the certificate.
    func key(in slot: PIVSlot) -> TokenKey? {
        if metadata.isEmpty { return certificate(in: slot).map { SlotKey.key(certificate: $0, in: slot) } }
        guard let answer = metadata[slot], let metadata = try? KeyMetadata(parsing: answer) else { return nil }
        return SlotKey.key(metadata, certificate: nil, in: slot)
    }

    private func certificate(in slot: PIVSlot) -> Certificate? {
        guard let answer = objects[slot], let content = try? PIVFormat.content(of: answer, in: slot.container),
            let object = try? CertificateObject.parse(content)
        else { return nil }
        return try? Certificate(der: object.certificate)
    }
}
