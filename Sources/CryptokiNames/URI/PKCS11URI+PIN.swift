internal import SecureBytes

extension PKCS11URI {
    /// The file that holds the PIN; nil where the URI names none.
    ///
    /// RFC 7512 §2.4 leaves the form to the program: here it is a path, or a `file` URI for this machine (RFC 8089).
    ///
    /// - Throws: `.pinSource` for a command (`|…`), since a key's name must not run one, and for every other form.
    package func pinFile() throws(PKCS11URIError) -> String? {
        guard let pinSource else { return nil }
        guard !pinSource.hasPrefix("|") else {
            throw PKCS11URIError(.pinSource, "the pin-source of the URI is a command, and none is run for a PIN")
        }
        guard pinSource.prefix(5).lowercased() == "file:" else { return try PKCS11URI.path(pinSource, of: pinSource) }
        let place = pinSource.dropFirst(5)
        guard place.hasPrefix("//") else { return try PKCS11URI.decoded(place, of: pinSource) }
        let (host, path) = (place.dropFirst(2).prefix { $0 != "/" }, place.dropFirst(2).drop { $0 != "/" })
        guard host.isEmpty || host.lowercased() == "localhost" else {
            throw PKCS11URIError(.pinSource, "the pin-source '\(pinSource)' of the URI is a file of another machine")
        }
        return try PKCS11URI.decoded(path, of: pinSource)
    }

    private static func path(_ text: String, of source: String) throws(PKCS11URIError) -> String {
        // A text with a scheme is not a path, even if there were a file of that name.
        guard !text.isEmpty, text.prefixMatch(of: /[A-Za-z][A-Za-z0-9+.\-]*:/) == nil else {
            throw PKCS11URIError(.pinSource, "the pin-source '\(source)' of the URI is neither a path nor a file: URI")
        }
        return text
    }

    /// The path of a `file` URI, with its own percent-encoding decoded; that of the enclosing URI is decoded already. RFC 3986
    /// §2.1.
    private static func decoded(_ text: Substring, of source: String) throws(PKCS11URIError) -> String {
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, let decoded = Hex.decode(digits), decoded.count == 1 else {
                throw PKCS11URIError(.pinSource, "the pin-source '\(source)' of the URI has a stray percent sign")
            }
            bytes += decoded
            rest = rest.dropFirst(2)
        }
        guard !bytes.isEmpty, !bytes.contains(0), let path = String(validating: bytes, as: UTF8.self) else {
            throw PKCS11URIError(.pinSource, "the pin-source '\(source)' of the URI names no file")
        }
        return path
    }
}
