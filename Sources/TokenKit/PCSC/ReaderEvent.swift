/// Something that happened to readers or to cards in them.
public enum ReaderEvent: Hashable, Sendable {
    /// A reader was plugged in, or was there when the watch began.
    case readerAdded(String)
    /// A reader was pulled out.
    case readerRemoved(String)
    /// A card was inserted, or a mute one answers now.
    case cardInserted(reader: String, atr: ATR)
    /// A card was inserted that does not answer its reset, or one ceased to answer.
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

    /// Whether another card may be in it than was in `earlier`.
    ///
    /// An exchange is two changes. A single one between two sights of a card means that the service counts a moment after it
    /// tells of a card.
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

/// The readers as they were last seen: a value that turns the next sight of them into events.
struct ReaderStates: Sendable {
    private(set) var readers: [ReaderSnapshot] = []

    /// Takes the present state over, and returns the events since the last one: removals first, then insertions and
    /// changes.
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
