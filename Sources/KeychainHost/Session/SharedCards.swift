internal import Synchronization
internal import TokenKit

/// The cards of a host that serves several clients. All clients have one connection to a card, and one PIN: once a client has given it, it
/// counts for the others too, until the card is taken out or the PIN's time is over.
public final class SharedCards: Sendable {
    /// A reader, and the drivers that are asked whether they know its card.
    struct Place: Hashable {
        let reader: String
        let drivers: [String]
    }

    /// The limits of the time for which a PIN counts, where the user has set none.
    static let pinLimits = PINLimits(total: .seconds(8 * 3600), unused: .seconds(3600))

    private let asksForPermission: Bool
    private let slots = Mutex<[Place: TokenSlot]>([:])

    /// - Parameter asksForPermission: whether a client uses a PIN that another one gave only where a person has allowed it.
    package init(askingForPermission asksForPermission: Bool = false) {
        self.asksForPermission = asksForPermission
    }

    /// A client's slot for a reader.
    ///
    /// - Parameter make: makes the first slot for the reader.
    func slot(at place: Place, waitsOnce: Bool, _ make: () -> TokenSlot) -> TokenSlot {
        let first = slots.withLock { slots in
            if let slot = slots[place] { return slot }
            let slot = make()
            slots[place] = slot
            return slot
        }
        return TokenSlot(sharing: first, waitsOnce: waitsOnce, askingForPermission: asksForPermission)
    }

    /// Whether a PIN is kept. Forgets those whose card is out.
    package func keepPINs() -> Bool {
        slots.withLock { Array($0.values) }.reduce(false) { $1.keepsPINOfPresentCard() || $0 }
    }

    /// Has all cards forget their PINs, and ends all logins.
    package func forgetPINs() {
        for slot in slots.withLock({ Array($0.values) }) { slot.forgetPIN() }
    }
}
