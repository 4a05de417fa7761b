internal import SecureBytes
package import TokenKit

/// The Key History Object: the number of retired key management keys. SP 800-73-5 part 1 §3.3.3 and table 17.
///
///     C1 keys with certificates on the card · C2 keys with certificates elsewhere · F3 where · FE
package struct KeyHistory: Hashable, Sendable {
    /// The number of keys with certificates on the card, which fill the retired slots from the first one up.
    package let onCard: Int
    package let offCard: Int

    /// The URL of the other certificates, as the card has it. Nothing is ever fetched from it.
    package let url: String?

    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("Key History Object") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        onCard = try KeyHistory.count(0xC1, of: fields)
        offCard = try KeyHistory.count(0xC2, of: fields)
        url = fields[0xF3].flatMap { $0.isEmpty ? nil : PIVFormat.text($0) }
    }

    /// The slots whose certificates are on the card.
    package var slots: [PIVSlot] { Array(PIVSlot.retired.prefix(onCard)) }

    private static func count(_ tag: TLVTag, of fields: [TLVTag: [UInt8]]) throws(TokenError) -> Int {
        guard let value = fields[tag], !value.isEmpty else { return 0 }
        guard value.count == 1, value[0] <= 20 else {
            throw PIVFormat.malformed("Key History Object", "more than twenty keys (tag \(tag))")
        }
        return Int(value[0])
    }
}
