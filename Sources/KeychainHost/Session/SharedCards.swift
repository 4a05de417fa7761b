internal import Platform
internal import Synchronization
package import TokenKit

/// The cards of a host that serves several clients. All clients have one connection to a card, and one PIN: once a client has given it, it
/// counts for the others too, until the card is taken out or locked, the user leaves, or the PIN's time is over.
public final class SharedCards: Sendable {
    /// A reader, and the drivers that are asked whether they know its card.
    struct Place: Hashable {
        let reader: String
        let drivers: [String]
    }

    /// The limits of the time for which a PIN counts, where the user has set none.
    package static let pinLimits = PINLimits(total: .seconds(8 * 3600), unused: .seconds(3600))

    private let permission: PINPermission
    private let slots = Mutex<[Place: TokenSlot]>([:])

    /// - Parameter asksForPermission: whether a client uses a PIN that another one gave only where a person has allowed it.
    package init(askingForPermission asksForPermission: Bool = false) {
        permission = asksForPermission ? .forPINsOfOthers : .none
    }

    /// A client's slot for a reader.
    ///
    /// - Parameters:
    ///   - asksEachTime: whether a person has to allow each use of a PIN by the client.
    ///   - tellNews: told of the card what the person at the machine should know, for this client's calls.
    ///   - make: makes the first slot for the reader.
    func slot(
        at place: Place, waitsOnce: Bool, askingEachTime asksEachTime: Bool, tellingNews tellNews: TokenNews.Listener?,
        _ make: () -> TokenSlot
    ) -> TokenSlot {
        let first = slots.withLock { slots in
            if let slot = slots[place] { return slot }
            let slot = make()
            slots[place] = slot
            return slot
        }
        return TokenSlot(
            sharing: first, waitsOnce: waitsOnce, permission: asksEachTime ? .forEachUse : permission,
            tellingNews: tellNews)
    }

    /// Whether the PIN of a card counts. Does not wait.
    package var havePIN: Bool { !readersWithPIN.isEmpty }

    /// The readers with a card whose PIN counts for all clients. A card that was taken out has lost it after a second.
    var readersWithPIN: [String] {
        slots.withLock { Array($0.values) }.filter(\.hasSharedPIN).map(\.name).sorted()
    }

    /// The logout from each card, which forgets its PIN and ends all logins. One may wait for a touch, or for another program that holds the card.
    package var logouts: [@Sendable () -> Void] {
        slots.withLock { Array($0.values) }.map { slot in { slot.forgetPIN() } }
    }

    /// Has all cards forget their PINs, and ends all logins.
    package func forgetPINs() { BlockingThread.runAll(logouts, atMost: SharedCards.timeToForget) }

    /// The time for cards and tokens to forget PINs: systemd-logind delays sleep for five seconds.
    package static let timeToForget: Duration = .seconds(4)
}
