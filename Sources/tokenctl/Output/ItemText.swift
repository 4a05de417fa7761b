internal import KeychainHost
internal import TokenKit

/// An item with all its attributes, in the form that macOS's `security` prints.
enum ItemText {
    static func show(_ item: Item, in keychain: String, json: Bool) throws {
        guard !json else { return try Listing.showJSON(JSONItem(item, keychain: keychain)) }
        print("keychain: \"\(keychain)\"")
        print("class: \"\(item.itemClass.rawValue)\"")
        print("attributes:")
        for (attribute, value) in item.attributes.sorted(by: { $0.key < $1.key }) {
            print("    \"\(attribute)\"<\(kind(of: value))>=\(text(of: value))")
        }
    }

    private struct JSONItem: Encodable {
        let keychain: String
        let itemClass: String
        let attributes: [String: String]
        let reference: String

        init(_ item: Item, keychain: String) {
            self.keychain = keychain
            itemClass = item.itemClass.rawValue
            attributes = Dictionary(
                uniqueKeysWithValues: item.attributes.map { ($0.key.rawValue, ItemText.plain($0.value)) })
            reference = Hex.encode(item.reference.encoded())
        }

        private enum CodingKeys: String, CodingKey {
            case keychain, itemClass = "class", attributes, reference
        }
    }

    private static func kind(of value: AttributeValue) -> String {
        switch value {
        case .string, .data: "blob"
        case .number: "uint32"
        case .bool: "sint32"
        case .date: "timedate"
        }
    }

    private static func text(of value: AttributeValue) -> String {
        switch value {
        case .string(let text): "\"\(Listing.printable(text))\""
        case .data(let bytes): "0x\(Hex.encode(bytes))"
        case .number, .bool, .date: plain(value)
        }
    }

    private static func plain(_ value: AttributeValue) -> String {
        switch value {
        case .string(let text): text
        case .data(let bytes): Hex.encode(bytes)
        case .number(let number): String(number)
        case .bool(let flag): flag ? "1" : "0"
        case .date(let seconds): Clock.text(seconds)
        }
    }
}
