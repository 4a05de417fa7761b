import Testing

@testable import TokenKit

private let atr = ATR([0x3B, 0x80, 0x80, 0x01, 0x01])
private let otherATR = ATR([0x3B, 0x00])

@Suite struct PCSCStatusTests {
    /// The bits of `SCARD_STATE_…`.
    private static let changed: UInt32 = 0x0002, unknown: UInt32 = 0x0004, unavailable: UInt32 = 0x0008
    private static let empty: UInt32 = 0x0010, present: UInt32 = 0x0020, exclusive: UInt32 = 0x0080
    private static let inUse: UInt32 = 0x0100, mute: UInt32 = 0x0200, unpowered: UInt32 = 0x0400

    @Test(
        arguments: [
            (0, atr, .absent), (empty, atr, .absent), (unavailable, atr, .absent),
            (unknown | unavailable, atr, .absent),
            (present, atr, .present(atr)), (present | changed, atr, .present(atr)),
            (present | inUse, atr, .present(atr)),
            (present | exclusive, atr, .present(atr)), (present | unpowered, atr, .present(atr)),
            (present | mute, ATR([]), .mute), (present | mute | inUse, ATR([]), .mute), (present, ATR([]), .absent),
            (0x0005_0000 | present, atr, .present(atr)), (0xFFFF_0000 | empty, atr, .absent),
        ] as [(UInt32, ATR, CardPresence)])
    func aStateSaysWhatIsInTheReader(state: UInt32, atr: ATR, presence: CardPresence) {
        #expect(PCSCStatus(reader: "R", state: state, atr: atr).presence == presence)
    }

    @Test func whatIsKnownIsNoLongerNew() {
        let status = PCSCStatus(reader: "R", state: 0x0007_0000 | Self.present | Self.changed, atr: atr)
        #expect(status.known.state == 0x0007_0000 | Self.present)
        #expect(status.known.presence == status.presence)
        #expect(status.changeCount == 7)
        #expect(status.known.changeCount == 7)
    }
}

@Suite struct ReaderStatesTests {
    private static func reader(_ name: String, _ presence: CardPresence, _ count: UInt16 = 0) -> ReaderSnapshot {
        ReaderSnapshot(name: name, presence: presence, changeCount: count)
    }

    /// The events of a series of snapshots, one array for each.
    private static func events(_ sights: [[ReaderSnapshot]]) -> [[ReaderEvent]] {
        var states = ReaderStates()
        return sights.map { states.update(to: $0) }
    }

    @Test func theFirstSightTellsWhatIsThere() {
        let events = Self.events([
            [Self.reader("A", .absent), Self.reader("B", .present(atr)), Self.reader("C", .mute)]
        ])
        #expect(
            events == [
                [
                    .readerAdded("A"), .readerAdded("B"), .cardInserted(reader: "B", atr: atr), .readerAdded("C"),
                    .cardMute(reader: "C"),
                ]
            ])
    }

    @Test func theSameSightAgainTellsNothing() {
        let sight = [Self.reader("A", .absent, 3), Self.reader("B", .present(atr), 5), Self.reader("C", .mute, 1)]
        #expect(Self.events([sight, sight, sight]).dropFirst() == [[], []])
        #expect(Self.events([[], []]) == [[], []])
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let from: CardPresence
        let to: CardPresence
        var count: UInt16 = 1
        let events: [ReaderEvent]
        var testDescription: String { "\(from) to \(to), \(count) changes" }
    }

    private static let inserted = ReaderEvent.cardInserted(reader: "R", atr: atr)
    private static let removed = ReaderEvent.cardRemoved(reader: "R")
    private static let mute = ReaderEvent.cardMute(reader: "R")

    @Test(arguments: [
        Change(from: .absent, to: .present(atr), events: [inserted]),
        Change(from: .absent, to: .mute, events: [mute]),
        Change(from: .present(atr), to: .absent, events: [removed]),
        Change(from: .mute, to: .absent, events: [removed]),
        // A card that was inserted and taken out again between two snapshots is not reported.
        Change(from: .absent, to: .absent, count: 2, events: []),
        // A card that was taken out and inserted again counts as another card until it proves to be the same.
        Change(from: .present(atr), to: .present(atr), count: 2, events: [removed, inserted]),
        Change(from: .present(otherATR), to: .present(atr), count: 2, events: [removed, inserted]),
        Change(from: .mute, to: .mute, count: 2, events: [removed, mute]),
        Change(from: .mute, to: .present(atr), count: 2, events: [removed, inserted]),
        Change(from: .present(atr), to: .mute, count: 4, events: [removed, mute]),
        // The service's count comes a moment after the state: half of an exchange is not reported.
        Change(from: .present(atr), to: .present(atr), count: 1, events: []),
        Change(from: .mute, to: .mute, count: 1, events: []),
        // A reset may change the answer to reset, and the card may answer it or not.
        Change(from: .present(otherATR), to: .present(atr), count: 0, events: []),
        Change(from: .present(atr), to: .mute, count: 0, events: [mute]),
        Change(from: .mute, to: .present(atr), count: 0, events: [inserted]),
    ])
    func aChangeOfOneReader(_ change: Change) {
        for first in [0, 1, 0xFFFE, 0xFFFF] as [UInt16] {
            let events = Self.events([
                [Self.reader("R", change.from, first)], [Self.reader("R", change.to, first &+ change.count)],
            ])
            #expect(events.last == change.events, "counting from \(first)")
        }
    }

    @Test func readersComeAndGoWithTheirCards() {
        let events = Self.events([
            [Self.reader("A", .present(atr)), Self.reader("B", .absent)],
            [Self.reader("B", .absent), Self.reader("C", .present(otherATR))],
            [],
            [Self.reader("A", .present(atr))],
        ])
        let first: [ReaderEvent] = [
            .cardRemoved(reader: "A"), .readerRemoved("A"), .readerAdded("C"),
            .cardInserted(reader: "C", atr: otherATR),
        ]
        #expect(events[1] == first)
        #expect(events[2] == [.readerRemoved("B"), .cardRemoved(reader: "C"), .readerRemoved("C")])
        #expect(events[3] == [.readerAdded("A"), .cardInserted(reader: "A", atr: atr)])
    }

    @Test func theOrderOfTheListDoesNotMatter() {
        let (a, b) = (Self.reader("A", .present(atr)), Self.reader("B", .mute))
        #expect(Self.events([[a, b], [b, a]]).last == [])
    }

    @Test func twoReadersOfOneNameAreNoTrap() {
        let twice = [Self.reader("A", .absent), Self.reader("A", .present(atr))]
        #expect(Self.events([twice]).first?.first == .readerAdded("A"))
        #expect(Self.events([twice, []]).last?.contains(.readerRemoved("A")) == true)
    }

    /// For any sequence of snapshots, the events add up to the last one.
    @Test func theEventsAddUpToWhatIsThere() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var states = ReaderStates()
            var replayed: [String: CardPresence] = [:]
            for _ in 0..<20 {
                let sight = ["A", "B", "C"].filter { _ in Bool.random(using: &generator) }.map { name in
                    Self.reader(
                        name, [.absent, .mute, .present(atr)].randomElement(using: &generator) ?? .absent,
                        UInt16.random(in: 0...3, using: &generator))
                }
                for event in states.update(to: sight) { Self.replay(event, on: &replayed) }
                #expect(replayed == Dictionary(uniqueKeysWithValues: sight.map { ($0.name, $0.presence) }))
            }
        }
    }

    private static func replay(_ event: ReaderEvent, on readers: inout [String: CardPresence]) {
        switch event {
        case .readerAdded(let name):
            #expect(readers.updateValue(.absent, forKey: name) == nil)
        case .readerRemoved(let name):
            #expect(readers.removeValue(forKey: name) == .absent)
        case .cardInserted(let name, let atr):
            #expect(readers[name] != nil && readers[name] != .present(atr))
            readers[name] = .present(atr)
        case .cardMute(let name):
            #expect(readers[name] != nil && readers[name] != .mute)
            readers[name] = .mute
        case .cardRemoved(let name):
            #expect(readers[name] != nil && readers[name] != .absent)
            readers[name] = .absent
        case .serviceAvailable, .serviceUnavailable:
            Issue.record("no event of the service comes from readers")
        }
    }
}
