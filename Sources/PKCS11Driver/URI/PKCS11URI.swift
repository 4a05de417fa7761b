/// A name of tokens and of what is on them. RFC 7512.
///
/// What it does not say is left open: `pkcs11:` names everything. Its PIN is no part of the value, and so of no message:
/// ``pinValue(of:)`` gives it out.
///
///     pkcs11:token=PIV%20card;serial=4711;id=%01;type=private?pin-source=file:/etc/pin
package struct PKCS11URI: Hashable, Sendable {
    /// The attributes that name a token: fields of `CK_TOKEN_INFO`.
    package struct Token: Hashable, Sendable {
        package var label: String?
        package var manufacturer: String?
        package var serialNumber: String?
        package var model: String?

        package init(
            label: String? = nil, manufacturer: String? = nil, serialNumber: String? = nil, model: String? = nil
        ) {
            self.label = label
            self.manufacturer = manufacturer
            self.serialNumber = serialNumber
            self.model = model
        }
    }

    /// The attributes that name a slot.
    package struct Slot: Hashable, Sendable {
        package var description: String?
        package var manufacturer: String?
        package var number: Int?

        package init(description: String? = nil, manufacturer: String? = nil, number: Int? = nil) {
            self.description = description
            self.manufacturer = manufacturer
            self.number = number
        }
    }

    /// The attributes that name a module: fields of `CK_INFO`.
    package struct Library: Hashable, Sendable {
        package var description: String?
        package var manufacturer: String?
        /// 256 times the first number, and the second.
        package var version: Int?

        package init(description: String? = nil, manufacturer: String? = nil, version: Int? = nil) {
            self.description = description
            self.manufacturer = manufacturer
            self.version = version
        }
    }

    /// The attributes that name an object.
    package struct Object: Hashable, Sendable {
        /// The `CKA_ID`, which a certificate and its key share.
        package var id: [UInt8]?
        package var label: String?
        package var kind: Kind?

        package init(id: [UInt8]? = nil, label: String? = nil, kind: Kind? = nil) {
            self.id = id
            self.label = label
            self.kind = kind
        }
    }

    /// What an object is.
    package enum Kind: Hashable, Sendable, CaseIterable {
        case certificate, publicKey, privateKey, secretKey, data
    }

    package var token = Token()
    package var object = Object()
    package var slot = Slot()
    package var library = Library()

    /// Where the PIN is, as the URI has it; ``pinFile()`` reads it.
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

    /// Whether a text is meant as a URI, be it a right one or not.
    ///
    /// The id of a token of another module, `pkcs11:` and what tells it from others, is one where it is made of attributes.
    package static func isURI(_ text: String) -> Bool {
        guard text.prefix(7).lowercased() == "pkcs11:" else { return false }
        let rest = text.dropFirst(7)
        return rest.isEmpty || rest.contains("=") || rest.hasPrefix("?")
    }

    /// Whether it names objects, not only tokens.
    package var namesObject: Bool { object != Object() }
}

/// Why a text is no URI that can be used.
package struct PKCS11URIError: Error, Hashable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// RFC 7512 §2.3 has no such text.
        case malformed
        /// An attribute that nothing here can be compared with; it may not be passed over.
        case unrecognized
        /// The PIN is somewhere that it is not taken from.
        case pinSource
    }

    package let code: Code
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
