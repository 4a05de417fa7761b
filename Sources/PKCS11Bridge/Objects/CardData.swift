internal import SecureBytes
internal import TokenKit

/// What is known of a card's data objects: which there can be, which there are, and what was read of them.
struct CardData: Sendable {
    /// Every one that a card of its kind may have.
    let possible: [TokenDataObject]

    private var isThere: [TokenObjectID: Bool] = [:]
    private var contents: [TokenObjectID: SessionSecret] = [:]

    init(possible: [TokenDataObject] = []) {
        self.possible = possible
    }

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
