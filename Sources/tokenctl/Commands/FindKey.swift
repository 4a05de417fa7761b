internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct FindKey: ParsableCommand, AttributeCommand {
    static let itemClass = ItemClass.key
    static let attributeCommand = AttributeOption.Command.findKey

    static let configuration = CommandConfiguration(
        commandName: "find-key", abstract: "Find keys on cards and in keychains, by what they are and can do.")

    @OptionGroup var item: AttributeOptions<FindKey>
    @OptionGroup var search: SearchOptions
    @OptionGroup var output: ListingOptions

    struct KeyRow: Row {
        static let columns: [LocalizedKey] = ["KEYCHAIN", "OBJECT", "TYPE", "KEY", "CAN", "APPLICATION LABEL"]
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
            [
                keychain, object, Word.shown(type), Word.shown(key), abilities.map(Word.shown).joined(separator: " "),
                String(applicationLabel.prefix(16)),
            ]
        }
    }

    func run() throws {
        let session = try search.session()
        try output.searching(session.gaps) { try find(in: session) }
        try session.gaps.end()
    }

    private func find(in session: CommandKeychains) throws {
        let any: Attributes = [.synchronizable: Query.anySynchronizable]
        let query = try Query(.key, any.merging(item.attributes) { $1 }, limit: .all)
        let all = session.reporting(try session.items(matching: query))
        guard !all.isEmpty else { throw KeychainError(.itemNotFound, "no key matches") }
        let uris = try ObjectURIs(session)
        let items = try uris.items(all, namedBy: search.uris)
        try session.require(!items.isEmpty, namedBy: search.uris, as: "key")
        if output.uris { return output.show(items.map { uris.uri(of: $0) }) }
        if output.isListing {
            let rows = items.map { FindKey.row($0, session.keychainName(of: $0), uris.uri(of: $0)) }
            return try Listing.show(rows, json: output.json)
        }
        for item in items { try ItemText.show(item, in: session.location(of: item)) }
    }

    private static func row(_ item: Item, _ keychain: String, _ uri: PKCS11URI?) -> KeyRow {
        let abilities: [(Attribute, String)] = [
            (.canSign, "sign"), (.canDecrypt, "decrypt"), (.canDerive, "derive"), (.canUnwrap, "unwrap"),
            (.canVerify, "verify"), (.canEncrypt, "encrypt"), (.canWrap, "wrap"),
        ]
        return KeyRow(
            keychain: keychain, object: item.objectName,
            type: ItemClass.key.definition(of: .keyClass)?.option?.form.name(of: item[.keyClass]?.integer) ?? "unknown",
            key: item.keyDescription,
            abilities: abilities.filter { item[$0.0]?.isTrue == true && item.canEver($0.0) }.map(\.1),
            applicationLabel: Hex.encode(item[.applicationLabel]?.bytes ?? []), token: item.reference.tokenID,
            reference: item.reference.hexText, uri: uri?.description)
    }
}

extension Item {
    /// Whether keys of this type can have the ability: by default a private key's attributes claim all of them.
    fileprivate func canEver(_ ability: Attribute) -> Bool {
        let (signature, agreement): (Set<Attribute>, Set<Attribute>) = ([.canSign, .canVerify], [.canDerive])
        return switch KeyType(rawValue: self[.keyType]?.integer ?? 0) {
        case .rsa: !agreement.contains(ability)
        case .ecPrime: signature.contains(ability) || isPrivateKey && agreement.contains(ability)
        case .ed25519, .ed448: signature.contains(ability)
        case .x25519, .x448: isPrivateKey && agreement.contains(ability)
        default: true
        }
    }

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
