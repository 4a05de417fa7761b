internal import SecureBytes

/// Data objects as they are provisioned. SP 800-73-5 part 1 appendix A.
extension DataObject {
    /// The flag of a certificate's compression in CertInfo.
    enum Compression: UInt8 {
        case none = 0x00
        case gzip = 0x01
        /// The value for gzip that early software wrote.
        case oldGzip = 0x80
    }

    private static let errorDetectionCode = TLV(0xFE, [UInt8]())

    /// Table 10: the certificate, CertInfo, and the error detection code, which is always empty.
    static func certificate(_ der: [UInt8], _ compression: Compression = .none) -> [UInt8] {
        encode([
            TLV(0x70, compression == .none ? der : Gzip.wrap(der)), TLV(0x71, [compression.rawValue]),
            errorDetectionCode,
        ])
    }

    /// Table 9: FASC-N, GUID, expiration date as `YYYYMMDD`, and no signature.
    static func cardholderIdentifier(fascn: [UInt8], guid: [UInt8], expiration: String) -> [UInt8] {
        encode([
            TLV(0x30, fascn), TLV(0x34, guid), TLV(0x35, Array(expiration.utf8)), TLV(0x3E, [UInt8]()),
            errorDetectionCode,
        ])
    }

    /// Table 8: an identifier of 21 bytes, of which 14 are the card's own, and the versions.
    static func cardCapability(identifier: [UInt8]) -> [UInt8] {
        let registered: [UInt8] = [0xA0, 0x00, 0x00, 0x01, 0x16, 0xFF, 0x02]
        let empty: [TLVTag] = [0xF6, 0xF7, 0xFA, 0xFB, 0xFC, 0xFD]
        return encode(
            [
                TLV(0xF0, registered + identifier.prefix(14)), TLV(0xF1, [0x21]), TLV(0xF2, [0x21]),
                TLV(0xF3, [UInt8]()), TLV(0xF4, [0x00]), TLV(0xF5, [0x10]),
            ] + empty.map { TLV($0, [UInt8]()) } + [errorDetectionCode])
    }

    /// Table 14: name, affiliation, expiration date as `YYYYMMMDD`, card serial number and issuer.
    static func printedInformation(name: String, expiration: String, serialNumber: String) -> [UInt8] {
        encode([
            TLV(0x01, Array(name.utf8)), TLV(0x02, Array("TESTING".utf8)), TLV(0x04, Array(expiration.utf8)),
            TLV(0x05, Array(serialNumber.utf8)), TLV(0x06, Array("999999VIRTUALCARD".utf8)), errorDetectionCode,
        ])
    }

    /// Table 15: the number of retired keys with certificates on the card. None has its certificate elsewhere.
    static func keyHistory(onCard count: Int) -> [UInt8] {
        encode([TLV(0xC1, [UInt8(clamping: count)]), TLV(0xC2, [0x00]), errorDetectionCode])
    }

    private static func encode(_ elements: [TLV]) -> [UInt8] {
        elements.flatMap { $0.encoded() }
    }
}
