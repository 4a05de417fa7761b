package import SecureBytes

/// URIs are read and written here, not by p11-kit, which stops at an empty attribute, lets numbers overflow, and takes the last
/// of repeated attributes and older names of them, so that a URI names more than it says. The written form is p11-kit's.
extension PKCS11URI: CustomStringConvertible {
    /// Reads a URI.
    ///
    /// - Throws: `.malformed`, and `.unrecognized` for a path attribute that has no meaning here, since RFC 7512 §2.3 allows none
    ///   to be ignored.
    package init(_ text: String) throws(PKCS11URIError) {
        let written = try WrittenURI(text)
        token = Token(
            label: try written.field("token", of: 32), manufacturer: try written.field("manufacturer", of: 32),
            serialNumber: try written.field("serial", of: 16), model: try written.field("model", of: 16))
        object = Object(
            id: try written.bytes("id"), label: try written.text("object"), kind: try written.value("type", Kind.init))
        slot = Slot(
            description: try written.field("slot-description", of: 64),
            manufacturer: try written.field("slot-manufacturer", of: 32), number: try written.number("slot-id"))
        library = Library(
            description: try written.field("library-description", of: 32),
            manufacturer: try written.field("library-manufacturer", of: 32),
            version: try written.version("library-version"))
        pinSource = try written.string("pin-source")
        moduleName = try written.string("module-name")
        modulePath = try written.string("module-path")
        hasPINValue = try written.text("pin-value") != nil
        guard pinSource == nil || !hasPINValue else {
            throw PKCS11URIError(.malformed, "the URI has both a pin-source and a pin-value")
        }
    }

    /// The PIN that a URI has in itself.
    package static func pinValue(of text: String) throws(PKCS11URIError) -> Secret? {
        guard var bytes = try WrittenURI(text).bytes("pin-value") else { return nil }
        return Secret(consuming: &bytes)
    }

    /// The URI, without its PIN.
    package var description: String {
        func encoded(_ text: Text?) -> String? { text.map { PKCS11URI.encoded($0.bytes, verbatim: true) } }
        let path: [(String, String?)] = [
            ("library-description", encoded(library.description)),
            ("library-manufacturer", encoded(library.manufacturer)),
            ("library-version", library.version.map { "\($0 >> 8).\($0 & 0xFF)" }),
            ("slot-description", encoded(slot.description)), ("slot-manufacturer", encoded(slot.manufacturer)),
            ("slot-id", slot.number?.description), ("model", encoded(token.model)),
            ("manufacturer", encoded(token.manufacturer)), ("serial", encoded(token.serialNumber)),
            ("token", encoded(token.label)), ("id", object.id.map { PKCS11URI.encoded($0, verbatim: false) }),
            ("object", encoded(object.label)), ("type", object.kind?.rawValue),
        ]
        let query: [(String, String?)] = [
            ("pin-source", encoded(pinSource.map { Text($0) })), ("module-name", encoded(moduleName.map { Text($0) })),
            ("module-path", encoded(modulePath.map { Text($0) })),
        ]
        func joined(_ attributes: [(String, String?)], _ separator: String) -> String {
            attributes.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: separator)
        }
        let behind = joined(query, "&")
        return "pkcs11:" + joined(path, ";") + (behind.isEmpty ? "" : "?" + behind)
    }

    private static func encoded(_ bytes: [UInt8], verbatim: Bool) -> String {
        bytes.map { byte in
            let isPlain = verbatim && (byte.isOfName || byte == UInt8(ascii: "."))
            return isPlain ? String(UnicodeScalar(byte)) : "%" + Hex.encode([byte])
        }.joined()
    }
}

/// The attributes of a URI as they are written.
///
///     pk11-path  = [ pk11-pattr *(";" pk11-pattr) ]
///     pk11-query = [ pk11-qattr *("&" pk11-qattr) ]
///
/// RFC 7512 §2.3. Unknown attributes are ignored in the query, and refused in the path.
private struct WrittenURI {
    /// The values by their names, of the path and of the query.
    private var values: [String: ArraySlice<UInt8>] = [:]

    private static let ofPath: Set = [
        "token", "manufacturer", "serial", "model", "library-manufacturer", "library-description", "library-version",
        "slot-manufacturer", "slot-description", "slot-id", "object", "id", "type",
    ]
    private static let ofQuery: Set = ["pin-source", "pin-value", "module-name", "module-path"]

    init(_ text: String) throws(PKCS11URIError) {
        guard text.prefix(7).lowercased() == "pkcs11:" else {
            throw PKCS11URIError(.malformed, "the URI cannot be read: it does not begin with 'pkcs11:'")
        }
        // Long URIs are broken over lines. RFC 3986, appendix C.
        let bytes = text.utf8.dropFirst(7).filter { !" \t\r\n".utf8.contains($0) }
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw PKCS11URIError(.malformed, "the URI has a control character in it (write it as in %1B)")
        }
        guard !bytes.contains(UInt8(ascii: "#")) else {
            throw PKCS11URIError(
                .malformed, "the URI has a fragment, which names nothing (write '#' in a value as %23)")
        }
        let path = bytes.prefix { $0 != UInt8(ascii: "?") }
        try add(path, separator: ";")
        if let name = values.keys.sorted().first(where: { !WrittenURI.ofPath.contains($0) }) {
            guard !WrittenURI.ofQuery.contains(name) else {
                throw PKCS11URIError(
                    .unrecognized, "'\(name)' of the URI belongs after a '?', as in id=%01?\(name)=…")
            }
            throw PKCS11URIError(
                .unrecognized, "'\(name)' of the URI has no meaning here, so that nothing can match it")
        }
        let query = bytes.dropFirst(path.count + 1)
        guard !query.contains(UInt8(ascii: ";")) else {
            throw PKCS11URIError(
                .malformed,
                "the URI has a ';' behind its '?', where attributes have '&' between them (write ';' as %3B)")
        }
        try add(query, separator: "&")
    }

    private mutating func add(_ attributes: ArraySlice<UInt8>, separator: Unicode.Scalar) throws(PKCS11URIError) {
        guard !attributes.isEmpty else { return }
        for attribute in attributes.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false) {
            guard !attribute.isEmpty else {
                throw PKCS11URIError(.malformed, "the URI has a '\(separator)' with no attribute before or after it")
            }
            let name = attribute.prefix { $0 != UInt8(ascii: "=") }
            guard !name.isEmpty, name.count < attribute.count, name.allSatisfy(\.isOfName) else {
                throw PKCS11URIError(
                    .malformed,
                    "the URI cannot be read: it is not made of names and values, as in token=card;id=%01")
            }
            let text = String(decoding: name, as: UTF8.self)
            if separator == "&", !WrittenURI.ofQuery.contains(text) {
                guard !WrittenURI.ofPath.contains(text) else {
                    throw PKCS11URIError(.malformed, "'\(text)' of the URI belongs before the '?'")
                }
                continue
            }
            guard values.updateValue(attribute.dropFirst(name.count + 1), forKey: text) == nil else {
                throw PKCS11URIError(.malformed, "'\(text)' is given twice in the URI")
            }
        }
    }

    // MARK: Values

    func bytes(_ name: String) throws(PKCS11URIError) -> [UInt8]? {
        guard var rest = values[name] else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let decoded = Hex.decode(String(decoding: rest.prefix(2), as: UTF8.self)),
                decoded.count == 1
            else {
                throw PKCS11URIError(
                    .malformed,
                    "the URI cannot be read: a percent sign in it is not followed by two hexadecimal digits")
            }
            bytes += decoded
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// - Throws: `.malformed` for a zero, which ends a text in other programs.
    func text(_ name: String) throws(PKCS11URIError) -> PKCS11URI.Text? {
        guard let bytes = try bytes(name) else { return nil }
        guard !bytes.contains(0) else {
            throw PKCS11URIError(.malformed, "'\(name)' of the URI has a zero in it")
        }
        return PKCS11URI.Text(bytes)
    }

    func string(_ name: String) throws(PKCS11URIError) -> String? {
        guard let text = try text(name) else { return nil }
        guard let string = String(validating: text.bytes, as: UTF8.self) else {
            throw PKCS11URIError(.malformed, "'\(name)' of the URI is not in UTF-8")
        }
        return string
    }

    /// The value of a field of `length` bytes, without the blanks that pad it.
    func field(_ name: String, of length: Int) throws(PKCS11URIError) -> PKCS11URI.Text? {
        guard let bytes = try text(name)?.bytes else { return nil }
        guard bytes.count <= length else {
            throw PKCS11URIError(
                .unrecognized, "'\(name)' of the URI has more than \(length) bytes, so that nothing can match it")
        }
        return PKCS11URI.Text(Array(bytes.reversed().drop { $0 == UInt8(ascii: " ") }.reversed()))
    }

    /// - Throws: `.unrecognized` for a text without a meaning.
    func value<Value>(_ name: String, _ meaning: (String) -> Value?) throws(PKCS11URIError) -> Value? {
        guard let text = try string(name) else { return nil }
        guard let value = meaning(text) else {
            throw PKCS11URIError(
                .unrecognized, "'\(name)=\(text)' of the URI has no meaning here, so that nothing can match it")
        }
        return value
    }

    func number(_ name: String) throws(PKCS11URIError) -> UInt64? {
        guard let text = try string(name) else { return nil }
        return try number(text[...], name)
    }

    func version(_ name: String) throws(PKCS11URIError) -> Int? {
        guard let text = try string(name) else { return nil }
        let numbers = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let major = try number(numbers[0], name, upTo: 255)
        let minor = numbers.count > 1 ? try number(numbers[1], name, upTo: 255) : 0
        return Int(major << 8 | minor)
    }

    private func number(
        _ digits: Substring, _ name: String, upTo limit: UInt64 = .max
    ) throws(PKCS11URIError) -> UInt64 {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw PKCS11URIError(.malformed, "'\(name)' of the URI is not a number")
        }
        guard let number = UInt64(digits), number <= limit else {
            throw PKCS11URIError(.malformed, "'\(name)' of the URI is out of range")
        }
        return number
    }
}

extension UInt8 {
    /// Whether the byte may be in an attribute's name: a letter, a digit, a hyphen or an underscore.
    fileprivate var isOfName: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
