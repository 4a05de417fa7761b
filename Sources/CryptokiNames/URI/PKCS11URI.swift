/// A name of tokens and of the objects on them. RFC 7512.
///
/// Attributes that the URI lacks match anything: `pkcs11:` names everything. The PIN is not part of the value, so that no message
/// shows it: ``pinValue(of:)`` reads it.
///
///     pkcs11:token=PIV%20card;serial=4711;id=%01;type=private?pin-source=file:/etc/pin
package struct PKCS11URI: Hashable, Sendable {
    /// A name in a module: UTF-8 for people, and any bytes for comparisons.
    package struct Text: Hashable, Sendable, ExpressibleByStringLiteral {
        package let bytes: [UInt8]

        package init(_ bytes: [UInt8]) { self.bytes = bytes }
        package init(_ text: String) { bytes = Array(text.utf8) }
        package init(stringLiteral text: String) { self.init(text) }

        /// The text for people; bytes that are not UTF-8 are replaced.
        package var shown: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The attributes that name a token: fields of `CK_TOKEN_INFO`.
    package struct Token: Hashable, Sendable {
        package var label: Text?
        package var manufacturer: Text?
        package var serialNumber: Text?
        package var model: Text?

        package init(
            label: Text? = nil, manufacturer: Text? = nil, serialNumber: Text? = nil, model: Text? = nil
        ) {
            self.label = label
            self.manufacturer = manufacturer
            self.serialNumber = serialNumber
            self.model = model
        }
    }

    /// The attributes that name a slot.
    package struct Slot: Hashable, Sendable {
        package var description: Text?
        package var manufacturer: Text?
        package var number: UInt64?

        package init(description: Text? = nil, manufacturer: Text? = nil, number: UInt64? = nil) {
            self.description = description
            self.manufacturer = manufacturer
            self.number = number
        }
    }

    /// The attributes that name a module: fields of `CK_INFO`.
    package struct Library: Hashable, Sendable {
        package var description: Text?
        package var manufacturer: Text?
        /// 256 times the major number, plus the minor one.
        package var version: Int?

        package init(description: Text? = nil, manufacturer: Text? = nil, version: Int? = nil) {
            self.description = description
            self.manufacturer = manufacturer
            self.version = version
        }
    }

    /// The attributes that name an object.
    package struct Object: Hashable, Sendable {
        /// The `CKA_ID`, which a certificate and its key share.
        package var id: [UInt8]?
        package var label: Text?
        package var kind: Kind?

        package init(id: [UInt8]? = nil, label: Text? = nil, kind: Kind? = nil) {
            self.id = id
            self.label = label
            self.kind = kind
        }
    }

    /// The kind of an object.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case certificate = "cert"
        case publicKey = "public"
        case privateKey = "private"
        case secretKey = "secret-key"
        case data
    }

    package var token = Token()
    package var object = Object()
    package var slot = Slot()
    package var library = Library()

    /// The `pin-source` as the URI has it; ``pinFile()`` reads it.
    package var pinSource: String?

    /// Whether the URI has the PIN itself.
    package internal(set) var hasPINValue = false

    /// The module by its name, and by its file or folder.
    package var moduleName: String?
    package var modulePath: String?

    package init(token: Token = Token(), object: Object = Object()) {
        self.token = token
        self.object = object
    }

    /// Whether a text is meant as a URI, valid or not.
    ///
    /// The id of another module's token, which begins with `pkcs11:` too, is a URI where it consists of attributes.
    package static func isURI(_ text: String) -> Bool {
        guard text.prefix(7).lowercased() == "pkcs11:" else { return false }
        let rest = text.dropFirst(7)
        return rest.isEmpty || rest.contains("=") || rest.hasPrefix("?")
    }

    /// Whether the URI names objects, not only tokens.
    package var namesObject: Bool { object != Object() }

    /// Whether the URI tells one object from others. A type alone does not.
    package var tellsObjectsApart: Bool { object.id != nil || object.label != nil }

    /// Whether the token's name is unique in the world.
    package var namesOneToken: Bool { token.serialNumber != nil && token.manufacturer != nil }

    /// Whether the URI tells one token from others, by a label, a serial number or a slot. Manufacturers and models only tell
    /// kinds of tokens.
    package var tellsTokensApart: Bool {
        token.label != nil || token.serialNumber != nil || slot.description != nil || slot.number != nil
    }
}

/// The reason that a text is not a usable URI.
package struct PKCS11URIError: Error, Hashable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The text does not follow RFC 7512 §2.3.
        case malformed
        /// An attribute that cannot be compared here, and must not be ignored.
        case unrecognized
        /// The PIN is at a place from which none is read.
        case pinSource
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
