internal import SystemCrypto
internal import TokenKit

/// A card as it was when it was last read: which it is, and the answers that its certificates came from.
///
///     80 version · 81 instance · 82 label · 83 manufacturer · 84 model · 85 serial number · 86 card version
///     A0 { 80 slot · 81 answer to GET DATA } …
struct RememberedCard: Hashable, Sendable {
    let identity: TokenIdentity
    var objects: [PIVSlot: [UInt8]]

    private static let version: UInt8 = 1

    init(identity: TokenIdentity, objects: [PIVSlot: [UInt8]]) {
        self.identity = identity
        self.objects = objects
    }

    /// Nil for what no version of this driver has written.
    init?(parsing bytes: [UInt8]) {
        var reader = TLVReader(bytes)
        guard let fields = try? reader.all(), fields.first == TLV(0x80, [RememberedCard.version]) else { return nil }
        func text(_ tag: TLVTag) -> String? {
            fields.first { $0.tag == tag }.flatMap { String(validating: $0.value, as: UTF8.self) }
        }
        guard let instance = text(0x81), !instance.isEmpty, let label = text(0x82) else { return nil }
        identity = TokenIdentity(
            id: TokenID(driver: PIVToken.driverName, instance: instance), label: label, manufacturer: text(0x83),
            model: text(0x84), serialNumber: text(0x85), version: text(0x86))
        objects = [:]
        for field in fields where field.tag == 0xA0 {
            guard var parts = try? field.children(), let slot = try? parts.require(0x80),
                let answer = try? parts.require(0x81), slot.value.count == 1,
                let known = PIVSlot(rawValue: slot.value[0])
            else { return nil }
            objects[known] = answer.value
        }
    }

    func encoded() -> [UInt8] {
        let texts: [(TLVTag, String?)] = [
            (0x81, identity.id.instance), (0x82, identity.label), (0x83, identity.manufacturer),
            (0x84, identity.model), (0x85, identity.serialNumber), (0x86, identity.version),
        ]
        var fields = [TLV(0x80, [RememberedCard.version])]
        fields += texts.compactMap { tag, text in text.map { TLV(tag, Array($0.utf8)) } }
        fields += objects.sorted { $0.key.rawValue < $1.key.rawValue }.map { slot, answer in
            TLV(0xA0, [TLV(0x80, [slot.rawValue]), TLV(0x81, answer)])
        }
        return fields.flatMap { $0.encoded() }
    }

    /// The certificates, and the keys that they speak of.
    var inventory: TokenInventory {
        let slots = PIVSlot.primary + PIVSlot.retired
        return TokenInventory(
            objects: slots.compactMap { slot in
                guard let answer = objects[slot],
                    let content = try? PIVFormat.content(of: answer, in: slot.container),
                    let object = try? CertificateObject.parse(content),
                    let certificate = try? Certificate(der: object.certificate)
                else { return nil }
                return SlotKey.object(
                    slot, certificate: certificate.der, key: SlotKey.key(certificate: certificate, in: slot))
            })
    }
}
