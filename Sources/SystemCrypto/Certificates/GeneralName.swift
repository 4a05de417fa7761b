internal import SecureBytes

/// A name in a certificate's subject alternative names, RFC 5280 §4.2.1.6.
public enum GeneralName: Sendable, Hashable {
    case email(String)
    case dns(String)
    case uri(String)
    /// A name of a kind that has an object identifier: user principal name, FASC-N, …; with the value's DER.
    case otherName(OID, value: [UInt8])
    /// Another kind by its tag, with its content: directory name, IP address, registered identifier, …
    case other(tag: UInt8, content: [UInt8])

    private enum Tag {
        static let otherName = DER.Tag.context(0)
        static let email = DER.Tag.context(1, constructed: false)
        static let dns = DER.Tag.context(2, constructed: false)
        static let uri = DER.Tag.context(6, constructed: false)
    }

    /// The user principal name of Windows log-on certificates.
    public static func userPrincipalName(_ name: String) -> GeneralName {
        .otherName(.userPrincipalName, value: DER.utf8String(name))
    }

    /// All names of an extension's value.
    static func parse(_ value: [UInt8]) throws(CryptoError) -> [GeneralName] {
        var outer = TLVReader(value, .der)
        var names = try outer.read(DER.Tag.sequence).reader
        try outer.finish()
        var parsed: [GeneralName] = []
        while !names.isAtEnd { parsed.append(try GeneralName(parsing: names.read())) }
        return parsed
    }

    private init(parsing element: TLV) throws(CryptoError) {
        let text = DisplayText.escaped(String(decoding: element.content, as: UTF8.self))
        switch element.tag {
        case Tag.email: self = .email(text)
        case Tag.dns: self = .dns(text)
        case Tag.uri: self = .uri(text)
        case Tag.otherName:
            var fields = try element.reader
            let identifier = OID(content: try fields.read(DER.Tag.objectIdentifier).value)
            let value = try fields.read(DER.Tag.context(0)).content
            try fields.finish()
            self = .otherName(identifier, value: Array(value))
        default: self = .other(tag: UInt8(truncatingIfNeeded: element.tag.rawValue), content: element.value)
        }
    }

    var encoded: [UInt8] {
        switch self {
        case .email(let text): DER.element(Tag.email, Array(text.utf8))
        case .dns(let text): DER.element(Tag.dns, Array(text.utf8))
        case .uri(let text): DER.element(Tag.uri, Array(text.utf8))
        case .otherName(let identifier, let value):
            DER.element(
                Tag.otherName, DER.objectIdentifier(identifier) + DER.element(DER.Tag.context(0), value))
        case .other(let tag, let content): DER.element(TLVTag(rawValue: UInt32(tag)), content)
        }
    }
}
