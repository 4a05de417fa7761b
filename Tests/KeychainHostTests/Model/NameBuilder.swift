import TokenKit

/// Builds X.501 names, and certificates that have nothing but a subject.
enum NameBuilder {
    static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    static let organization: [UInt8] = [0x55, 0x04, 0x0A]

    /// The DER of a name, one array of (type, tag, value) for each relative distinguished name.
    static func name(_ sets: [[(type: [UInt8], tag: TLVTag, value: [UInt8])]]) -> [UInt8] {
        TLV(0x30, sets.map { set in TLV(0x31, set.map { TLV(0x30, [TLV(0x06, $0.type), TLV($0.tag, $0.value)]) }) })
            .encoded()
    }

    static func certificate(subject: [UInt8]) -> [UInt8] {
        let empty = TLV(0x30, [UInt8]()).encoded()
        let version = TLV(0xA0, [TLV(0x02, [2])]).encoded()
        let fields = version + TLV(0x02, [1]).encoded() + empty + empty + empty + subject + empty
        return TLV(0x30, TLV(0x30, fields).encoded()).encoded()
    }
}
