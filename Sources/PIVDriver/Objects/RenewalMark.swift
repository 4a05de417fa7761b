internal import Localization
internal import SecureBytes
internal import TokenKit

/// The mark of a key that is made to take the place of another, in a field of its own of the certificate's object.
///
///     C0: key reference of the place · common name in UTF-8
///
/// The object of a key that has no certificate yet has an empty field `70`, which means no certificate. Other programs ignore the mark.
package struct RenewalMark: Hashable {
    private static let tag: TLVTag = 0xC0

    /// The place of the key that is renewed.
    let slot: PIVSlot
    /// The common name for the new key's certificate.
    let name: String

    init(_ slot: PIVSlot, _ name: String) {
        self.slot = slot
        self.name = name
    }

    /// The mark in the content of a certificate's object; nil for none.
    package init?(content: [UInt8]) {
        var reader = TLVReader(content)
        guard let value = (try? reader.fields())?[Self.tag], let reference = value.first,
            let slot = PIVSlot(rawValue: reference), let name = String(validating: value.dropFirst(), as: UTF8.self)
        else { return nil }
        self.init(slot, name)
    }

    var encoded: [UInt8] { TLV(Self.tag, [slot.rawValue] + Array(name.utf8)).encoded() }

    var fact: TokenFact {
        TokenFact(
            "Renewal", String(localized: "slot \(slot.objectID.rawValue), for '\(name)'"),
            parts: ["renewedSlot": .text(slot.objectID.rawValue), "renewedName": .text(name)])
    }
}
