/// DER as this target writes it, one function an ASN.1 type.
enum DER {
    enum Tag {
        static let boolean: UInt8 = 0x01
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let octetString: UInt8 = 0x04
        static let null: UInt8 = 0x05
        static let objectIdentifier: UInt8 = 0x06
        static let utf8String: UInt8 = 0x0C
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31

        /// A context-specific tag.
        static func context(_ number: UInt8, constructed: Bool = true) -> UInt8 {
            (constructed ? 0xA0 : 0x80) | number
        }
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    static func sequence(_ elements: [[UInt8]]) -> [UInt8] {
        element(Tag.sequence, Array(elements.joined()))
    }

    static func octetString(_ bytes: [UInt8]) -> [UInt8] {
        element(Tag.octetString, bytes)
    }

    /// A bit string of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] {
        element(Tag.bitString, [0] + bytes)
    }

    /// A non-negative integer, given most significant byte first.
    static func integer(_ magnitude: some Sequence<UInt8>) -> [UInt8] {
        var bytes = Array(magnitude.drop { $0 == 0 })
        if bytes.first.map({ $0 > 0x7F }) ?? true { bytes.insert(0, at: 0) }
        return element(Tag.integer, bytes)
    }

    static func objectIdentifier(_ identifier: OID) -> [UInt8] {
        element(Tag.objectIdentifier, identifier.content)
    }

    static func utf8String(_ text: String) -> [UInt8] {
        element(Tag.utf8String, Array(text.utf8))
    }

    static func length(_ count: Int) -> [UInt8] {
        guard count > 0x7F else { return [UInt8(truncatingIfNeeded: count)] }
        let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }.drop { $0 == 0 }
        return [0x80 | UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }
}
