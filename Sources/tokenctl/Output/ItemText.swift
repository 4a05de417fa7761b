internal import CryptokiNames
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// An item with its attributes, in the form that macOS's `security` prints and that scripts parse.
enum ItemText {
    /// - Parameter keychain: the file, or the token's id.
    static func show(_ item: Item, in keychain: String, json: Bool = false) throws {
        guard !json else { return try Listing.showJSON(JSONItem(item, keychain: keychain)) }
        StandardOutput.line("keychain: \"\(keychain)\"")
        StandardOutput.line("version: 512")
        StandardOutput.line("class: \(header(of: item))")
        StandardOutput.line("attributes:")
        for line in lines(of: item) {
            StandardOutput.line(
                "    \(line.name)<\(line.kind)>=\(value(item.attributes[line.attribute], as: line.kind))")
        }
    }

    /// The attributes by their codes, as they are stored.
    struct JSONItem: Encodable {
        let keychain: String
        let itemClass: String
        let attributes: [String: String]
        let reference: String
        let uri: String?
        /// The password, where it was asked for and is text.
        var password: String?
        /// A password that is not text, or the data of another item, in Base64.
        var data: String?
        /// The data as it is stored, in Base64, where that was asked for.
        var raw: String?
        /// The access control, where it was asked for.
        var access: LocalizedText?

        init(_ item: Item, keychain: String, _ uri: PKCS11URI? = nil) {
            self.keychain = keychain
            itemClass = item.itemClass.rawValue
            attributes = Dictionary(
                uniqueKeysWithValues: item.attributes.map { ($0.key.rawValue, ItemText.plain($0.value)) })
            reference = item.reference.hexText
            self.uri = uri?.description
        }

        /// Adds the item's content.
        mutating func reveal(_ secret: borrowing Secret, _ secrets: inout JSONSecrets) {
            (password, data) = ItemText.members(of: secret, itemClass, &secrets)
        }

        private enum CodingKeys: String, CodingKey {
            case keychain, itemClass = "class", attributes, reference, uri, password, data, raw, access
        }
    }

    /// Prints an item with its content, as JSON.
    static func showJSON(_ item: Item, in keychain: String, with secret: borrowing Secret) throws {
        var (shown, secrets) = (JSONItem(item, keychain: keychain), JSONSecrets())
        shown.reveal(secret, &secrets)
        try Listing.showJSON(shown, with: secrets)
    }

    /// The values of 'password' and 'data' in JSON: the text of a password, else any data in Base64.
    static func members(
        of secret: borrowing Secret, _ itemClass: String, _ secrets: inout JSONSecrets
    ) -> (password: String?, data: String?) {
        if ItemClass(rawValue: itemClass)?.isPassword == true, let text = SecretText.escaped(secret) {
            return (secrets.placeholder(for: text), nil)
        }
        return (nil, secrets.placeholder(for: Base64.encode(secret.bytes)))
    }

    static func plain(_ value: AttributeValue) -> String {
        switch value {
        case .string(let text): text
        case .data(let bytes): Hex.encode(bytes)
        case .number(let number): String(number)
        case .bool(let flag): flag ? "1" : "0"
        case .date(let seconds): Clock.text(seconds)
        }
    }

    // MARK: Values

    private static func value(_ value: AttributeValue?, as kind: Kind) -> String {
        guard let value else { return "<NULL>" }
        let bytes: [UInt8]? =
            switch kind {
            case .blob: value.bytes
            case .uint32, .sint32: value.integer.map(word) ?? value.bytes
            case .timedate: value.integer.map(time)
            }
        return bytes.map(QuotedText.string) ?? "<NULL>"
    }

    /// Four bytes, most significant first; eight for a number that does not fit into them.
    private static func word(_ number: Int64) -> [UInt8] {
        number.bigEndianBytes.suffix(Int64(Int32.min)...Int64(UInt32.max) ~= number ? 4 : 8)
    }

    /// The time as `20260131120000Z` and a zero byte.
    private static func time(_ seconds: Int64) -> [UInt8] {
        CertificateTime.iso8601(seconds).utf8.filter { (0x30...0x39).contains($0) } + Array("Z\0".utf8)
    }
}

// MARK: Which attributes are shown, and how they are called

extension ItemText {
    private enum Kind: String {
        case blob, uint32, sint32, timedate
    }

    private struct Line {
        let name: String
        let kind: Kind
        let attribute: Attribute
    }

    private static func header(of item: Item) -> String {
        switch item.itemClass {
        case .genericPassword, .internetPassword, .identity: "\"\(item.itemClass.rawValue)\""
        // The record types of CDSA.
        case .certificate: "0x80001000 "
        case .key:
            switch item[.keyClass]?.integer {
            case KeyClass.public.rawValue: "0x0000000F "
            case KeyClass.private.rawValue: "0x00000010 "
            default: "0x00000011 "
            }
        }
    }

    private static func lines(of item: Item) -> [Line] {
        switch item.itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .certificate, .identity: certificate
        case .key: key
        }
    }

    private static let label = [
        Line(name: "0x00000007 ", kind: .blob, attribute: .label),
        Line(name: "0x00000008 ", kind: .blob, attribute: .alias),
    ]

    private static let genericPassword =
        label
        + named([
            (.account, .blob), (.creationDate, .timedate), (.creator, .uint32), (.hasCustomIcon, .sint32),
            (.itemDescription, .blob), (.generic, .blob), (.comment, .blob), (.isInvisible, .sint32),
            (.modificationDate, .timedate), (.isNegative, .sint32), (.isProtected, .blob), (.scriptCode, .sint32),
            (.service, .blob), (.type, .uint32),
        ])

    private static let internetPassword =
        label
        + named([
            (.account, .blob), (.authenticationType, .blob), (.creationDate, .timedate), (.creator, .uint32),
            (.hasCustomIcon, .sint32), (.itemDescription, .blob), (.comment, .blob), (.isInvisible, .sint32),
            (.modificationDate, .timedate), (.isNegative, .sint32), (.path, .blob), (.port, .uint32),
            (.isProtected, .blob), (.protocol, .uint32), (.scriptCode, .sint32), (.securityDomain, .blob),
            (.server, .blob), (.type, .uint32),
        ])

    /// The attributes of a certificate. Four of them have other names in `security` than in SecItem.
    private static let certificate = [
        Line(name: "\"alis\"", kind: .blob, attribute: .alias),
        Line(name: "\"cenc\"", kind: .uint32, attribute: .certificateEncoding),
        Line(name: "\"ctyp\"", kind: .uint32, attribute: .certificateType),
        Line(name: "\"hpky\"", kind: .blob, attribute: .publicKeyHash),
        Line(name: "\"issu\"", kind: .blob, attribute: .issuer),
        Line(name: "\"labl\"", kind: .blob, attribute: .label),
        Line(name: "\"skid\"", kind: .blob, attribute: .subjectKeyID),
        Line(name: "\"snbr\"", kind: .blob, attribute: .serialNumber),
        Line(name: "\"subj\"", kind: .blob, attribute: .subject),
    ]

    /// The attributes of a key, which have numbers for names.
    private static let key: [Line] = {
        let attributes: [(Attribute, Kind)] = [
            (.keyClass, .uint32), (.label, .blob), (.alias, .blob), (.isPermanent, .uint32), (.isPrivate, .uint32),
            (.isModifiable, .uint32), (.applicationLabel, .blob), (.applicationTag, .blob), (.creator, .blob),
            (.keyType, .uint32), (.keySizeInBits, .uint32), (.effectiveKeySize, .uint32), (.startDate, .timedate),
            (.endDate, .timedate), (.isSensitive, .uint32), (.wasAlwaysSensitive, .uint32), (.isExtractable, .uint32),
            (.wasNeverExtractable, .uint32), (.canEncrypt, .uint32), (.canDecrypt, .uint32), (.canDerive, .uint32),
            (.canSign, .uint32), (.canVerify, .uint32), (.canSignRecover, .uint32), (.canVerifyRecover, .uint32),
            (.canWrap, .uint32), (.canUnwrap, .uint32),
        ]
        return attributes.enumerated().map { number, row in
            Line(name: "0x000000\(Hex.encode([UInt8(number)])) ", kind: row.1, attribute: row.0)
        }
    }()

    private static func named(_ rows: [(Attribute, Kind)]) -> [Line] {
        rows.map { Line(name: "\"\($0.0.rawValue)\"", kind: $0.1, attribute: $0.0) }
    }
}
