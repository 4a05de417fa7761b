internal import SecureBytes

/// DER as this target writes it, one function an ASN.1 type.
enum DER {
    enum Tag {
        static let boolean: TLVTag = 0x01
        static let integer: TLVTag = 0x02
        static let bitString: TLVTag = 0x03
        static let octetString: TLVTag = 0x04
        static let null: TLVTag = 0x05
        static let objectIdentifier: TLVTag = 0x06
        static let utf8String: TLVTag = 0x0C
        static let utcTime: TLVTag = 0x17
        static let generalizedTime: TLVTag = 0x18
        static let sequence: TLVTag = 0x30
        static let set: TLVTag = 0x31

        /// A context-specific tag.
        static func context(_ number: UInt8, constructed: Bool = true) -> TLVTag {
            TLVTag(rawValue: UInt32((constructed ? 0xA0 : 0x80) | number))
        }
    }

    static func element(_ tag: TLVTag, _ content: [UInt8]) -> [UInt8] {
        TLV(tag, content).encoded()
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
}
