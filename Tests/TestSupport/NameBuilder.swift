public import SecureBytes

/// Builds X.501 names.
public enum NameBuilder {
    public static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    public static let organization: [UInt8] = [0x55, 0x04, 0x0A]

    /// The DER of a name, one array of (type, tag, value) for each relative distinguished name.
    public static func name(_ sets: [[(type: [UInt8], tag: TLVTag, value: [UInt8])]]) -> [UInt8] {
        TLV(0x30, sets.map { set in TLV(0x31, set.map { TLV(0x30, [TLV(0x06, $0.type), TLV($0.tag, $0.value)]) }) })
            .encoded()
    }
}
