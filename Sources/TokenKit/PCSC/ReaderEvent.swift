/// Something that happened to readers or to cards in them.
public enum ReaderEvent: Hashable, Sendable {
    /// A reader was plugged in, or was present when the watch began.
    case readerAdded(String)
    /// A reader was unplugged.
    case readerRemoved(String)
    /// A card was inserted, or a mute card answers now.
    case cardInserted(reader: String, atr: ATR)
    /// A card that does not answer its reset was inserted, or a card ceased to answer.
    case cardMute(reader: String)
    /// A card was taken out, or its reader was.
    case cardRemoved(reader: String)
    /// The PC/SC service cannot be reached. All readers are gone with it; the watch goes on.
    case serviceUnavailable(CardError)
    /// The service can be reached again.
    case serviceAvailable
}

/// The presence of a card in a reader.
enum CardPresence: Hashable, Sendable {
    case absent, mute
    case present(ATR)
}

/// A reader as it was seen at one time.
struct ReaderSnapshot: Hashable, Sendable {
    let name: String
    let presence: CardPresence

    /// The number of insertions and removals, modulo 65,536.
    let changeCount: UInt16

    /// Whether the reader may have another card than in `earlier`.
    ///
    /// An exchange counts as two changes. A single change between two snapshots with a card means that the service counted the
    /// insertion shortly after it reported the card.
    fileprivate func isExchanged(since earlier: ReaderSnapshot) -> Bool { changeCount &- earlier.changeCount > 1 }

    /// The events between the state `earlier` and this one.
    fileprivate func events(since earlier: ReaderSnapshot) -> [ReaderEvent] {
        let removal: [ReaderEvent] = [.cardRemoved(reader: name)]
        switch (earlier.presence, presence) {
        case (.absent, _): return arrival
        case (_, .absent): return removal
        case (.present, .present) where !isExchanged(since: earlier), (.mute, .mute) where !isExchanged(since: earlier):
            return []
        case _ where isExchanged(since: earlier): return removal + arrival
        default: return arrival
        }
    }

    fileprivate var arrival: [ReaderEvent] {
        switch presence {
        case .absent: []
        case .mute: [.cardMute(reader: name)]
        case .present(let atr): [.cardInserted(reader: name, atr: atr)]
        }
    }

    fileprivate var departure: [ReaderEvent] {
        (presence == .absent ? [] : [.cardRemoved(reader: name)]) + [.readerRemoved(name)]
    }
}

/// The last seen state of the readers, from which the next state yields events.
struct ReaderStates: Sendable {
    private(set) var readers: [ReaderSnapshot] = []

    /// Stores the present state, and returns the events since the former one: removals first, then insertions and changes.
    mutating func update(to current: [ReaderSnapshot]) -> [ReaderEvent] {
        let earlier = Dictionary(readers.map { ($0.name, $0) }) { first, _ in first }
        let names = Set(current.map(\.name))
        let departures = readers.filter { !names.contains($0.name) }.flatMap(\.departure)
        readers = current
        return departures
            + current.flatMap { reader in
                earlier[reader.name].map { reader.events(since: $0) } ?? [.readerAdded(reader.name)] + reader.arrival
            }
    }
}
