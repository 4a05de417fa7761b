internal import SecureBytes
internal import TokenKit

/// The known facts about a card's data objects: the possible ones, the present ones, and the content of those that were read.
struct CardData: Sendable {
    /// Every data object that a card of this kind may have.
    let possible: [TokenDataObject]

    private var isThere: [TokenObjectID: Bool] = [:]
    private var contents: [TokenObjectID: SharedSecret] = [:]

    init(possible: [TokenDataObject] = []) {
        self.possible = possible
    }

    func isThere(_ object: TokenDataObject) -> Bool? { isThere[object.id] }

    func content(of object: TokenDataObject) -> Secret? { contents[object.id]?.secret.clone() }

    /// - Parameter finding: the only copy, so that its content can be wiped.
    mutating func learn(_ finding: consuming TokenDataFinding, of object: TokenObjectID) {
        isThere[object] = finding != .absent
        guard case .whole(var content) = consume finding else { return }
        contents[object] = SharedSecret(Secret(consuming: &content))
    }

    /// The facts that other clients may have.
    var withoutContents: CardData {
        var data = self
        data.contents = [:]
        return data
    }
}
