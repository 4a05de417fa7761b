internal import Synchronization
package import TokenKit

/// The facts that the clients of a host have read of the inserted cards, so that the next client asks no card for them.
///
/// The facts are valid for a few seconds, since other tools may write to a card unnoticed. A client keeps the facts that it
/// already has while the card stays in.
package final class KnownCards: Sendable {
    /// The insertion of the card in a reader.
    let insertion: @Sendable (_ reader: String) -> CardInsertion?
    let patience: Duration
    private let cards = Mutex<[String: CardPlace.Card]>([:])

    /// - Parameters:
    ///   - patience: the time for which facts are valid for other clients.
    ///   - insertion: tells which card is in a reader, without a connection to it.
    package init(
        for patience: Duration = .seconds(5), _ insertion: @escaping @Sendable (_ reader: String) -> CardInsertion?
    ) {
        self.patience = patience
        self.insertion = insertion
    }

    /// The facts about the card in a reader; nil where they have to be read from the card.
    func card(in reader: String) -> CardPlace.Card? {
        let known = cards.withLock { cards -> CardPlace.Card? in
            if let card = cards[reader], isOld(card) { cards[reader] = nil }
            return cards[reader]
        }
        guard let known, known.place == insertion(reader) else { return nil }
        return known
    }

    /// Keeps the facts about a card, for as long as it stays in.
    func note(_ card: CardPlace.Card, in reader: String) {
        guard !isOld(card), card.items != nil, card.identity != nil, let place = card.place,
            place == insertion(reader)
        else { return }
        var card = card
        card.insertion = nil
        card.data = card.data.withoutContents
        cards.withLock { $0[reader] = card }
    }

    private func isOld(_ card: CardPlace.Card) -> Bool {
        card.readingBegan.duration(to: .now) >= patience
    }

    func forget(_ reader: String) {
        cards.withLock { $0[reader] = nil }
    }

    /// Drops the known tries, since a PIN is being presented.
    func forgetPINStatus(_ reader: String) {
        cards.withLock { $0[reader]?.pinStatus = nil }
    }
}
