internal import SecureBytes
package import TokenKit

/// The Card Capability Container. SP 800-73-5 part 1 §3.1.1 and table 8.
///
///     F0 card identifier · F1 container version · F2 grammar version · F3 applications … · F4 PKCS#15 · F5 data model · …
package struct CardCapability: Hashable, Sendable {
    /// RID of the issuing system, card type and a number: 21 bytes where a card keeps to GSC-IS 2.1.
    package let identifier: [UInt8]
    package let containerVersion: UInt8?
    package let grammarVersion: UInt8?
    package let dataModel: UInt8?

    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("Card Capability Container") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        identifier = fields[0xF0] ?? []
        containerVersion = fields[0xF1]?.first
        grammarVersion = fields[0xF2]?.first
        dataModel = fields[0xF5]?.first
    }
}
