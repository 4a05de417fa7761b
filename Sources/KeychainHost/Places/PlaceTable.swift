internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Synchronization
internal import TokenKit

/// The places for tokens of one client, each with the client's login there.
final class PlaceTable: Sendable {
    private struct State {
        var places: [String: any HostedPlace] = [:]
        /// Whether the client has ended: a call that is late finds no place.
        var hasEnded = false
    }

    private let keychains: any HostedKeychains
    private let makeCardPlace: @Sendable (any TokenBackend) -> CardPlace
    private let state = Mutex(State())

    init(_ keychains: any HostedKeychains, _ makeCardPlace: @escaping @Sendable (any TokenBackend) -> CardPlace) {
        self.keychains = keychains
        self.makeCardPlace = makeCardPlace
    }

    /// The present places: readers in their order, then the files of the search list. Asks no card. A reader that is plugged in again
    /// gets its former place.
    func present() -> Outcome<[any HostedPlace]> {
        let present = keychains.presentPlaces()
        let places = state.withLock { state -> [any HostedPlace] in
            guard !state.hasEnded else { return [] }
            let cards = present.found.cards.map { slot -> any HostedPlace in
                if let known = state.places[slot.name] { return known }
                let place = makeCardPlace(slot)
                state.places[slot.name] = place
                return place
            }
            let files = present.found.files.map { keychain -> any HostedPlace in
                if let known = state.places[keychain.path] as? FilePlace {
                    known.take(keychain)
                    return known
                }
                let place = FilePlace(keychain) { [keychains] () throws(KeychainError) in
                    try keychains.preferences.passwordCost()
                }
                state.places[keychain.path] = place
                return place
            }
            return cards + files
        }
        return Outcome(places, missing: present.missing)
    }

    /// - Throws: `errSecNoSuchKeychain`.
    func place(at location: String) throws(KeychainError) -> any HostedPlace {
        let (known, hasEnded) = state.withLock { ($0.places[location], $0.hasEnded) }
        if let known { return known }
        guard !hasEnded else { throw KeychainError(.userCanceled, "the client has ended", failure: .cancelled) }
        _ = present()
        guard let found = state.withLock({ $0.places[location] }) else { throw .noToken }
        return found
    }

    /// Ends the logins of the client, and releases its cards.
    func letGo() {
        let places = state.withLock { state in
            let places = Array(state.places.values)
            state = State(hasEnded: true)
            return places
        }
        for place in places { place.endWaits() }
        for place in places { place.letGo() }
    }
}
