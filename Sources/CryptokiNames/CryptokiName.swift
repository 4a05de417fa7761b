/// The name of a token in PKCS #11: the fields of `CK_TOKEN_INFO` (§3.2) that tell tokens apart.
///
/// The module that shows tokens and the URIs (RFC 7512) that name them both use it.
public struct CryptokiTokenName: Hashable, Sendable {
    package let label: String
    package let manufacturer: String
    package let model: String
    package let serialNumber: String

    /// A name whose parts are cut to the lengths of their fields.
    package init(label: String, manufacturer: String, model: String, serialNumber: String) {
        self.label = CryptokiText.cut(label, to: 32)
        self.manufacturer = CryptokiText.cut(manufacturer, to: 32)
        self.model = CryptokiText.cut(model, to: 16)
        self.serialNumber = CryptokiText.cut(serialNumber, to: 16)
    }

    /// The name of a card.
    ///
    /// - Parameter instance: the part of its identifier that tells it from others of its kind.
    package init(
        ofCard label: String, manufacturer: String?, model: String?, serialNumber: String?, instance: String
    ) {
        // A number that does not fit is cut from the identifier, which never changes either.
        let number = serialNumber.flatMap { $0.utf8.count <= 16 ? $0 : nil }
        self.init(
            label: label, manufacturer: manufacturer ?? "", model: model ?? "card",
            serialNumber: number ?? String(instance.filter { $0 != "-" }.suffix(16)))
    }
}

/// The name of a slot in PKCS #11: fields of `CK_SLOT_INFO` (§3.2), and its number.
public struct CryptokiSlotName: Hashable, Sendable {
    package let description: String
    package let manufacturer: String
    /// The slot's number, unless another slot has taken it before.
    package let number: UInt

    /// The slot of a reader.
    package init(reader name: String) {
        self.init(description: name, manufacturer: "", number: CryptokiSlotName.number(of: name, in: Self.readers))
    }

    package init(description: String, manufacturer: String, number: UInt) {
        self.description = CryptokiText.cut(description, to: 64)
        self.manufacturer = CryptokiText.cut(manufacturer, to: 32)
        self.number = number
    }

    /// The numbers that slots of readers have, and those of keychains.
    package static let readers: Range<UInt> = 1..<0x10000
    package static let keychains: Range<UInt> = 0x10000..<0x20000

    /// A number that follows from the name, so that it is the same in every process and can be in configuration files.
    package static func number(of name: String, in range: Range<UInt>) -> UInt {
        range.lowerBound + UInt(stableHash(of: name) % UInt64(range.count))
    }

    /// FNV-1a.
    private static func stableHash(of text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

/// The name of this package's module in PKCS #11: fields of `CK_INFO` (§3.2), and its file.
package enum CryptokiLibrary {
    package static let manufacturer = "tokenkit"
    package static let description = "Cards and keychains"
    package static let version: (major: UInt8, minor: UInt8) = (0, 1)

    /// The beginning of the file's name. Copies that show only some tokens have longer names.
    package static let file = "libtokenkit-pkcs11"

    /// The module's name in p11-kit.
    package static let configuration = "tokenkit"
}

/// Text in structures of PKCS #11.
package enum CryptokiText {
    /// The part of a text that fits a field of `count` bytes, cut between characters. PKCS #11 §3.1.
    package static func cut(_ text: String, to count: Int) -> String {
        var (cut, used) = ("", 0)
        for character in text {
            used += character.utf8.count
            guard used <= count else { break }
            cut.append(character)
        }
        return cut
    }
}
