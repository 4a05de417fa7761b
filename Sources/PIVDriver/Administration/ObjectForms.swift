internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// The content of objects that are written, as the parsers of this driver read it.

extension CertificateObject {
    /// `70` certificate, `71` whether it is compressed, `C0` the mark of a renewal, `FE`. SP 800-73-5 part 1 table 10.
    ///
    /// - Parameter certificate: empty for none.
    static func encoded(_ certificate: [UInt8], isCompressed: Bool, _ mark: RenewalMark? = nil) -> [UInt8] {
        TLV(0x70, certificate).encoded() + TLV(0x71, [isCompressed ? 1 : 0]).encoded() + (mark?.encoded ?? [])
            + TLV(0xFE, [UInt8]()).encoded()
    }
}

extension KeyHistory {
    /// `C1` keys with certificates on the card, `C2` and `F3` the others as before, `FE`. SP 800-73-5 part 1 table 17.
    static func encoded(onCard count: Int, besides former: KeyHistory?) -> [UInt8] {
        let url = former?.url.map { TLV(0xF3, Array($0.utf8)).encoded() } ?? []
        return TLV(0xC1, [UInt8(truncatingIfNeeded: count)]).encoded()
            + TLV(0xC2, [UInt8(truncatingIfNeeded: former?.offCard ?? 0)]).encoded() + url
            + TLV(0xFE, [UInt8]()).encoded()
    }
}

extension CardholderIdentifier {
    /// The identifier of a card without an issuer: a random GUID, and a FASC-N whose agency code 9999 says that the GUID counts.
    /// SP 800-73-5 part 1 §3.1.2.
    static func random() throws(CryptoError) -> [UInt8] {
        var guid = try RandomBytes.make(count: 16)
        // A random UUID, RFC 4122 §4.4.
        guid[6] = guid[6] & 0x0F | 0x40
        guid[8] = guid[8] & 0x3F | 0x80
        let fields = [
            TLV(0x30, withoutAgency), TLV(0x34, guid), TLV(0x35, Array("20500101".utf8)), TLV(0x3E, [UInt8]()),
            TLV(0xFE, [UInt8]()),
        ]
        return fields.flatMap { $0.encoded() }
    }

    /// 9999-9999-999999-0-1-0000000000-3-0000-1 in the FASC-N's code, as makers' tools write it.
    private static let withoutAgency: [UInt8] = [
        0xD4, 0xE7, 0x39, 0xDA, 0x73, 0x9C, 0xED, 0x39, 0xCE, 0x73, 0x9D, 0x83, 0x68, 0x58, 0x21, 0x08, 0x42, 0x10,
        0x84, 0x21, 0xC8, 0x42, 0x10, 0xC3, 0xEB,
    ]
}

extension CardCapability {
    /// The capabilities of a card with the PIV data model alone, and a random identifier. SP 800-73-5 part 1 table 8.
    static func random() throws(CryptoError) -> [UInt8] {
        // GSC-IS 2.1 §6.1: the issuing system, the card's type (Java Card), a number.
        let identifier = [0xA0, 0x00, 0x00, 0x01, 0x16, 0xFF, 0x02] + (try RandomBytes.make(count: 14))
        var fields = [TLV(0xF0, identifier), TLV(0xF1, [0x21]), TLV(0xF2, [0x21]), TLV(0xF3, [UInt8]())]
        fields += [TLV(0xF4, [0x00]), TLV(0xF5, [0x10])]
        fields += [0xF6, 0xF7, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE].map { TLV(TLVTag(rawValue: $0), [UInt8]()) }
        return fields.flatMap { $0.encoded() }
    }
}
