internal import TokenKit

extension DataObject {
    /// A certificate object: the certificate, CertInfo, and the error detection code that nobody fills in.
    static func certificate(_ der: [UInt8]) -> [UInt8] {
        TLV(0x70, der).encoded() + TLV(0x71, [0x00]).encoded() + TLV(0xFE, [UInt8]()).encoded()
    }
}
