internal import Synchronization
package import TokenKit

/// What the programs of a host have read of the cards that are in, so that the next one asks no card for it.
///
/// It counts for a few seconds: nobody is told what other tools write on a card. A program goes on with what it has for as long as the
/// card stays in.
package final class KnownCards: Sendable {
    /// What a card's objects say depends on whether a program is to log in.
    private struct Key: Hashable {
        let reader: String
        let hidesLogin: Bool
    }

    /// The insertion of the card in a reader.
    let insertion: @Sendable (_ reader: String) -> CardInsertion?
    let patience: Duration
    private let cards = Mutex<[Key: CardSlot.Card]>([:])

    /// - Parameters:
    ///   - patience: how long what was read counts for other programs.
    ///   - insertion: tells which card is in a reader, without a connection to it.
    package init(
        for patience: Duration = .seconds(5), _ insertion: @escaping @Sendable (_ reader: String) -> CardInsertion?
    ) {
        self.patience = patience
        self.insertion = insertion
    }

    /// What is known of the card in a reader; nil where it is to be read.
    func card(in reader: String, hidesLogin: Bool) -> CardSlot.Card? {
        let key = Key(reader: reader, hidesLogin: hidesLogin)
        let known = cards.withLock { cards -> CardSlot.Card? in
            if let card = cards[key], isOld(card) { cards[key] = nil }
            return cards[key]
        }
        guard let known, known.place == insertion(reader) else { return nil }
        return known
    }

    /// Takes note of what was read of a card, for as long as it stays in.
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

    /// Has the tries that are left asked for anew, since somebody presents a PIN.
    func forgetPINStatus(_ reader: String) {
        cards.withLock { cards in
            for key in cards.keys where key.reader == reader { cards[key]?.pinStatus = nil }
        }
    }
}
