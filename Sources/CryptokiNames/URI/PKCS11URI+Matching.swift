extension PKCS11URI {
    /// The surroundings of an object in a module: the token, the slot and the module, as far as they are known.
    package struct Place: Hashable, Sendable {
        package var token: Token
        package var slot: Slot?
        package var library: Library?

        package init(_ token: Token, slot: Slot? = nil, library: Library? = nil) {
            self.token = token
            self.slot = slot
            self.library = library
        }
    }

    /// The URI of a token, or of an object on it. Empty fields of a token are left out, except for the label where it
    /// would be the only attribute: a URI without any names everything.
    package init(of token: Token, object: Object = Object()) {
        func said(_ text: Text?) -> Text? { text == "" ? nil : text }
        var named = Token(
            label: said(token.label), manufacturer: said(token.manufacturer), serialNumber: said(token.serialNumber),
            model: said(token.model))
        if named == Token() { named.label = "" }
        self.init(token: named, object: object)
    }

    /// Whether a token is one of those that the URI names. Unknown fields match nothing.
    package func matches(_ place: Place) -> Bool {
        let pairs: [(Text?, Text?)] = [
            (token.label, place.token.label), (token.manufacturer, place.token.manufacturer),
            (token.serialNumber, place.token.serialNumber), (token.model, place.token.model),
            (slot.description, place.slot?.description), (slot.manufacturer, place.slot?.manufacturer),
            (library.description, place.library?.description), (library.manufacturer, place.library?.manufacturer),
        ]
        return pairs.allSatisfy { wanted, found in wanted == nil || wanted == found }
            && (slot.number == nil || slot.number == place.slot?.number)
            && (library.version == nil || library.version == place.library?.version)
    }

    /// The token that a token's URI names. Fields that the URI leaves out are empty.
    package var wholeToken: Token {
        Token(
            label: token.label ?? "", manufacturer: token.manufacturer ?? "", serialNumber: token.serialNumber ?? "",
            model: token.model ?? "")
    }

    /// Whether an object is one of those that the URI names, on any token.
    ///
    /// - Parameter other: the object's known attributes.
    package func matches(_ other: Object) -> Bool {
        (object.id == nil || object.id == other.id) && (object.label == nil || object.label == other.label)
            && (object.kind == nil || object.kind == other.kind)
    }

    /// The part that names tokens, for people.
    package var tokenPart: String {
        var uri = PKCS11URI(token: token)
        (uri.slot, uri.library) = (slot, library)
        return uri.description
    }

    /// The part that names objects, for people.
    package var objectPart: String { PKCS11URI(object: object).description }
}

extension PKCS11URI.Token {
    package init(_ name: CryptokiTokenName) {
        self.init(
            label: .init(name.label), manufacturer: .init(name.manufacturer), serialNumber: .init(name.serialNumber),
            model: .init(name.model))
    }
}
