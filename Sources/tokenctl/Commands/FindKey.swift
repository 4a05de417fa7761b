internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

struct FindKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find-key", abstract: "Find keys on cards and in keychains, by what they are and can do.")

    /// Which half of a pair, or a key that has none.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case symmetric, `public`, `private`

        var keyClass: KeyClass {
            switch self {
            case .symmetric: .symmetric
            case .public: .public
            case .private: .private
            }
        }
    }

    @Option(
        name: .letter("a"),
        help: ArgumentHelp("The application label: the public key's SHA-1 in hexadecimal digits.", valueName: "label"))
    var applicationLabel: String?

    @Option(name: .letter("c"), help: ArgumentHelp("The creator, four characters.", valueName: "creator"))
    var creator: CharacterCode?

    @Option(
        name: .letter("D"),
        help: ArgumentHelp("The description, which keys do not have.", valueName: "description"))
    var itemDescription: String?

    @Option(name: .letter("j"), help: ArgumentHelp("The comment, which keys do not have.", valueName: "comment"))
    var comment: String?

    @Option(name: .letter("l"), help: ArgumentHelp("The label.", valueName: "label"))
    var label: String?

    @Option(name: .letter("t"), help: ArgumentHelp("What kind of key.", valueName: "type"))
    var kind: Kind?

    @Flag(name: .customShort("d"), help: "Keys that decrypt.")
    var decrypts = false

    @Flag(name: .customShort("e"), help: "Keys that encrypt.")
    var encrypts = false

    @Flag(name: .customShort("r"), help: "Keys that agree on other keys.")
    var derives = false

    @Flag(name: .customShort("s"), help: "Keys that sign.")
    var signs = false

    @Flag(name: .customShort("u"), help: "Keys that unwrap other keys.")
    var unwraps = false

    @Flag(name: .customShort("v"), help: "Keys that verify signatures.")
    var verifies = false

    @Flag(name: .customShort("w"), help: "Keys that wrap other keys.")
    var wraps = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var output: ListingOptions

    struct KeyRow: Row {
        static let columns = ["KEYCHAIN", "OBJECT", "TYPE", "KEY", "CAN", "APPLICATION LABEL"]
        let keychain: String
        let object: String
        let type: String
        let key: String
        let abilities: [String]
        let applicationLabel: String
        let token: String?
        let reference: String
        let uri: String?

        var cells: [String] {
            [keychain, object, type, key, abilities.joined(separator: " "), String(applicationLabel.prefix(16))]
        }
    }

    func run() throws {
        let session = try search.session()
        let query = try Query(.key, attributes(), limit: .all)
        let all = session.reporting(try session.searchList.items(matching: query))
        guard !all.isEmpty else { throw KeychainError(.itemNotFound, "no key matches") }
        let (names, uris) = (KeychainNames(session), try ObjectURIs(session))
        let items = try uris.items(all, namedBy: search.uris)
        try session.require(!items.isEmpty, namedBy: search.uris, as: "key")
        if output.uris { return output.show(items.map { uris.uri(of: $0) }) }
        if output.isListing {
            let rows = items.map { FindKey.row($0, names[$0], uris.uri(of: $0)) }
            return try Listing.show(rows, json: output.json)
        }
        for item in items { try ItemText.show(item, in: session.location(of: item)) }
    }

    private func attributes() throws -> Attributes {
        var attributes: Attributes = [.synchronizable: Query.anySynchronizable]
        attributes[.applicationLabel] = applicationLabel.map { .data(Hex.decode($0) ?? Array($0.utf8)) }
        attributes[.creator] = creator.map { .number($0.number) }
        attributes[.label] = label.map { .string($0) }
        // Refused as attributes that keys do not have.
        attributes[.itemDescription] = itemDescription.map { .string($0) }
        attributes[.comment] = comment.map { .string($0) }
        attributes[.keyClass] = kind?.keyClass.value
        let wanted: [(Bool, Attribute)] = [
            (decrypts, .canDecrypt), (encrypts, .canEncrypt), (derives, .canDerive), (signs, .canSign),
            (unwraps, .canUnwrap), (verifies, .canVerify), (wraps, .canWrap),
        ]
        for (isWanted, attribute) in wanted where isWanted { attributes[attribute] = true }
        return attributes
    }

    private static func row(_ item: Item, _ keychain: String, _ uri: PKCS11URI?) -> KeyRow {
        let abilities: [(Attribute, String)] = [
            (.canSign, "sign"), (.canDecrypt, "decrypt"), (.canDerive, "derive"), (.canUnwrap, "unwrap"),
            (.canVerify, "verify"), (.canEncrypt, "encrypt"), (.canWrap, "wrap"),
        ]
        return KeyRow(
            keychain: keychain, object: item.objectName,
            type: Kind.allCases.first { $0.keyClass.rawValue == item[.keyClass]?.integer }?.rawValue ?? "unknown",
            key: item.keyDescription, abilities: abilities.filter { item[$0.0]?.isTrue == true }.map(\.1),
            applicationLabel: Hex.encode(item[.applicationLabel]?.bytes ?? []), token: item.reference.tokenID,
            reference: Hex.encode(item.reference.encoded()), uri: uri?.description)
    }
}

extension Item {
    /// The kind and size of a key, as far as they have names.
    fileprivate var keyDescription: String {
        let bits = self[.keySizeInBits]?.integer ?? 0
        return switch KeyType(rawValue: self[.keyType]?.integer ?? 0) {
        case .rsa: "RSA \(bits)"
        case .ecPrime: "EC P-\(bits)"
        case .ed25519: "Ed25519"
        case .x25519: "X25519"
        case .aes: "AES \(bits)"
        case .hmac: "HMAC \(bits)"
        default: isSymmetricKey ? "\(bits) bits" : "unknown"
        }
    }
}
