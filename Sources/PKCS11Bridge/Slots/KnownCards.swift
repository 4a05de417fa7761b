internal import Synchronization
package import TokenKit

/// The facts that the programs of a host have read of the inserted cards, so that the next program asks no card for
/// them.
///
/// The facts are valid for a few seconds, since other tools may write to a card unnoticed. A program keeps the facts that it
/// already has while the card stays in.
package final class KnownCards: Sendable {
    /// The reader, and whether logins are hidden, which changes the objects' attributes.
    private struct Key: Hashable {
        let reader: String
        let hidesLogin: Bool
    }

    /// The insertion of the card in a reader.
    let insertion: @Sendable (_ reader: String) -> CardInsertion?
    let patience: Duration
    private let cards = Mutex<[Key: CardSlot.Card]>([:])

    /// - Parameters:
    ///   - patience: the time for which facts are valid for other programs.
    ///   - insertion: tells which card is in a reader, without a connection to it.
    package init(
        for patience: Duration = .seconds(5), _ insertion: @escaping @Sendable (_ reader: String) -> CardInsertion?
    ) {
        self.patience = patience
        self.insertion = insertion
    }

    /// The facts about the card in a reader; nil where they have to be read from the card.
    func card(in reader: String, hidesLogin: Bool) -> CardSlot.Card? {
        let key = Key(reader: reader, hidesLogin: hidesLogin)
        let known = cards.withLock { cards -> CardSlot.Card? in
            if let card = cards[key], isOld(card) { cards[key] = nil }
            return cards[key]
        }
        guard let known, known.place == insertion(reader) else { return nil }
        return known
    }

    /// Keeps the facts about a card, for as long as it stays in.
    func note(_ card: CardSlot.Card, in reader: String, hidesLogin: Bool) {
        guard !isOld(card), card.objects != nil, card.identity != nil, let place = card.place,
            place == insertion(reader)
        else { return }
        var card = card
        card.insertion = nil
        card.data = card.data.withoutContents
        cards.withLock { $0[Key(reader: reader, hidesLogin: hidesLogin)] = card }
    }

    private func isOld(_ card: CardSlot.Card) -> Bool {
        card.readingBegan.duration(to: .now) >= patience
    }

    func forget(_ reader: String) {
        cards.withLock { cards in cards = cards.filter { $0.key.reader != reader } }
    }

    /// Drops the known tries, since a PIN is being presented.
    func forgetPINStatus(_ reader: String) {
        cards.withLock { cards in
            for key in cards.keys where key.reader == reader { cards[key]?.pinStatus = nil }
        }
    }
}
