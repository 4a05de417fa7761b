internal import CCryptoki
internal import SecureBytes
internal import TokenKit

/// What is known of a card's data objects: which there can be, which there are, and what was read of them.
struct CardData: Sendable {
    /// Every one that a card of its kind may have; nil as long as it has not been asked.
    var possible: [TokenDataObject]?

    private var isThere: [TokenObjectID: Bool] = [:]
    private var contents: [TokenObjectID: SessionSecret] = [:]

    func isThere(_ object: TokenDataObject) -> Bool? { isThere[object.id] }

    func content(of object: TokenDataObject) -> Secret? { contents[object.id]?.clone() }

    /// - Parameter finding: what nobody else has, for its content to be wiped.
    mutating func learn(_ finding: consuming TokenDataFinding, of object: TokenObjectID) {
        isThere[object] = finding != .absent
        guard case .whole(var content) = consume finding else { return }
        contents[object] = SessionSecret(Secret(consuming: &content))
    }

    /// What holds of the same card when it is put back.
    var withoutContents: CardData {
        var data = self
        data.contents = [:]
        return data
    }
}

extension CardObjects {
    /// Makes an object of a card's data object. Its value is read when it is asked for.
    func object(_ data: TokenDataObject) -> CryptokiObject {
        let common = ObjectAttributes.storage(
            CKO_DATA, label: data.label, uniqueID: "\(data.id)/\(CKO_DATA)", isPrivate: data.needsPIN,
            isModifiable: false)
        // PKCS #11 §4.5; OpenSC's module names the application so as well.
        let attributes: ObjectAttributes.Attributes = [
            CKA_APPLICATION: Encoded.text(data.label), CKA_OBJECT_ID: data.objectIdentifier,
        ]
        return CryptokiObject(
            .card(CKO_DATA, data.id, content: Encoded.text(identity)), common.merging(attributes) { $1 },
            isPrivate: data.needsPIN, secret: [CKA_VALUE])
    }
}
