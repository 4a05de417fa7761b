internal import CP11Kit
internal import Glibc
package import TokenKit

extension PKCS11URI: CustomStringConvertible {
    /// Reads a URI.
    ///
    /// - Throws: `.malformed`, and `.unrecognized` for an attribute of the path that has no meaning here: RFC 7512 §2.3
    ///   allows none to be passed over.
    package init(_ text: String) throws(PKCS11URIError) {
        try PKCS11URI.check(text)
        let parsed = try ParsedURI(text)
        guard !parsed.hasUnknown, parsed.kind != CP11KIT_OTHER_OBJECT else {
            throw PKCS11URI.unrecognized(PKCS11URI.path(of: text))
        }
        token = Token(
            label: try parsed.text(CP11KIT_TOKEN), manufacturer: try parsed.text(CP11KIT_TOKEN_MANUFACTURER),
            serialNumber: try parsed.text(CP11KIT_TOKEN_SERIAL), model: try parsed.text(CP11KIT_TOKEN_MODEL))
        object = Object(
            id: parsed.bytes(CP11KIT_ID), label: try parsed.text(CP11KIT_OBJECT),
            kind: PKCS11URI.kinds.first { $0.1 == parsed.kind }?.0)
        slot = Slot(
            description: try parsed.text(CP11KIT_SLOT_DESCRIPTION),
            manufacturer: try parsed.text(CP11KIT_SLOT_MANUFACTURER), number: parsed.slot)
        library = Library(
            description: try parsed.text(CP11KIT_LIBRARY_DESCRIPTION),
            manufacturer: try parsed.text(CP11KIT_LIBRARY_MANUFACTURER), version: parsed.version)
        try checkNumbers(of: text)
        pinSource = try parsed.text(CP11KIT_PIN_SOURCE)
        moduleName = try parsed.text(CP11KIT_MODULE_NAME)
        modulePath = try parsed.text(CP11KIT_MODULE_PATH)
        switch parsed.pin() {
        case .some: hasPINValue = true
        case .none: hasPINValue = false
        }
        guard pinSource == nil || !hasPINValue else {
            throw PKCS11URIError(.malformed, "the URI has both a pin-source and a pin-value")
        }
    }

    /// The PIN that a URI has in itself.
    package static func pinValue(of text: String) throws(PKCS11URIError) -> Secret? {
        try ParsedURI(text).pin()
    }

    /// The URI, without its PIN.
    package var description: String {
        let parts: [(cp11kit_part, [UInt8]?)] = [
            (CP11KIT_TOKEN, token.label?.bytes), (CP11KIT_TOKEN_MANUFACTURER, token.manufacturer?.bytes),
            (CP11KIT_TOKEN_SERIAL, token.serialNumber?.bytes), (CP11KIT_TOKEN_MODEL, token.model?.bytes),
            (CP11KIT_LIBRARY_MANUFACTURER, library.manufacturer?.bytes),
            (CP11KIT_LIBRARY_DESCRIPTION, library.description?.bytes),
            (CP11KIT_SLOT_MANUFACTURER, slot.manufacturer?.bytes),
            (CP11KIT_SLOT_DESCRIPTION, slot.description?.bytes), (CP11KIT_OBJECT, object.label?.bytes),
            (CP11KIT_ID, object.id), (CP11KIT_PIN_SOURCE, pinSource?.bytes),
            (CP11KIT_MODULE_NAME, moduleName?.bytes), (CP11KIT_MODULE_PATH, modulePath?.bytes),
        ]
        let kind = PKCS11URI.kinds.first { $0.0 == object.kind }?.1
        return ParsedURI.format(parts, kind: kind, slot: slot.number, version: library.version) ?? "pkcs11:"
    }

    private static let kinds: [(Kind, cp11kit_kind)] = [
        (.certificate, CP11KIT_CERTIFICATE), (.publicKey, CP11KIT_PUBLIC_KEY), (.privateKey, CP11KIT_PRIVATE_KEY),
        (.secretKey, CP11KIT_SECRET_KEY), (.data, CP11KIT_DATA),
    ]

    // MARK: What p11-kit lets through

    /// - Throws: `.malformed` for an attribute that is given twice, of which p11-kit takes the last, and for a zero in a
    ///   text, which p11-kit takes for the end of it: what it read would name more than what was written.
    private static func check(_ text: String) throws(PKCS11URIError) {
        guard !text.utf8.contains(0) else { throw PKCS11URIError(.malformed, "the URI has a zero in it") }
        var seen: Set<Substring> = []
        for attribute in path(of: text) + query(of: text) {
            let name = attribute.prefix { $0 != "=" }
            guard seen.insert(name).inserted else {
                throw PKCS11URIError(.malformed, "'\(name)' is given twice in the URI")
            }
            guard name == "id" || !attribute.contains("%00") else {
                throw PKCS11URIError(.malformed, "'\(name)' of the URI has a zero in it")
            }
        }
    }

    /// - Throws: `.malformed` for a number that p11-kit takes for none.
    private func checkNumbers(of text: String) throws(PKCS11URIError) {
        for attribute in PKCS11URI.path(of: text) {
            let isLost =
                attribute.hasPrefix("slot-id=") && slot.number == nil
                || attribute.hasPrefix("library-version=") && library.version == nil
            guard !isLost else { throw PKCS11URIError(.malformed, "'\(attribute)' of the URI is out of range") }
        }
    }

    /// The attributes of the path, without white space, which p11-kit takes out.
    private static func path(of text: String) -> [Substring] {
        text.filter { !$0.isWhitespace }.dropFirst(7).prefix { $0 != "?" }.split(separator: ";")
    }

    private static func query(of text: String) -> [Substring] {
        text.filter { !$0.isWhitespace }.drop { $0 != "?" }.dropFirst().split(separator: "&")
    }

    private static func unrecognized(_ path: [Substring]) -> PKCS11URIError {
        let names = path.map { $0.prefix { $0 != "=" } }.filter { !known.contains(String($0)) }
        let what = names.isEmpty ? "a value" : names.map { "'\($0)'" }.joined(separator: " and ")
        return PKCS11URIError(.unrecognized, "\(what) of the URI has no meaning here, so that nothing can match it")
    }

    private static let known: Set = [
        "token", "manufacturer", "serial", "model", "library-manufacturer", "library-description", "library-version",
        "slot-manufacturer", "slot-description", "slot-id", "object", "id", "type",
    ]
}

extension String {
    fileprivate var bytes: [UInt8] { Array(utf8) }
}

/// A URI that p11-kit holds, and nobody else has.
@safe
private struct ParsedURI: ~Copyable {
    private let uri: OpaquePointer

    /// An empty one.
    private init() throws(PKCS11URIError) {
        guard let uri = unsafe cp11kit_new() else { throw PKCS11URIError(.malformed, "there is no memory for a URI") }
        unsafe self.uri = uri
    }

    /// Wraps `p11_kit_uri_parse`.
    init(_ text: String) throws(PKCS11URIError) {
        let parsed = try ParsedURI()
        if let reason = unsafe cp11kit_parse(parsed.uri, text) {
            throw PKCS11URIError(.malformed, "the URI cannot be read: \(unsafe String(cString: reason))")
        }
        self = parsed
    }

    deinit { unsafe cp11kit_free(uri) }

    var hasUnknown: Bool { unsafe cp11kit_has_unknown(uri) != 0 }
    var kind: cp11kit_kind { unsafe cp11kit_get_kind(uri) }
    var slot: Int? { unsafe PKCS11URI.number(Int(cp11kit_get_slot(uri))) }
    var version: Int? { unsafe PKCS11URI.number(Int(cp11kit_get_version(uri))) }

    func bytes(_ part: cp11kit_part) -> [UInt8]? {
        var length = 0
        guard let start = unsafe cp11kit_get(uri, part, &length) else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: start, count: length))
    }

    func text(_ part: cp11kit_part) throws(PKCS11URIError) -> String? {
        guard let bytes = bytes(part) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PKCS11URIError(.malformed, "a text in the URI is not in UTF-8")
        }
        return text
    }

    func pin() -> Secret? {
        guard let start = unsafe cp11kit_get_pin(uri) else { return nil }
        let count = unsafe strlen(start)
        return Secret(capacity: count) { output in
            for index in 0..<count { unsafe output.append(UInt8(bitPattern: start[index])) }
        }
    }

    /// Wraps `p11_kit_uri_format`.
    static func format(_ parts: [(cp11kit_part, [UInt8]?)], kind: cp11kit_kind?, slot: Int?, version: Int?) -> String? {
        guard let made = try? ParsedURI() else { return nil }
        for (part, bytes) in parts {
            guard let bytes else { continue }
            guard unsafe cp11kit_set(made.uri, part, bytes, bytes.count) != 0 else { return nil }
        }
        if let kind { guard unsafe cp11kit_set_kind(made.uri, kind) != 0 else { return nil } }
        if let slot { unsafe cp11kit_set_slot(made.uri, slot) }
        if let version { unsafe cp11kit_set_version(made.uri, Int32(truncatingIfNeeded: version)) }
        guard let text = unsafe cp11kit_format(made.uri) else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}

extension PKCS11URI {
    /// What C has as -1 is not there.
    fileprivate static func number(_ value: Int) -> Int? { value < 0 ? nil : value }
}
