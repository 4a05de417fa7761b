internal import Platform
internal import Synchronization

/// The limits with which a client adds a key or a module: RFC 9987 §3.2.7.
struct KeyLimits: Sendable, Equatable {
    /// Whether each use is asked for.
    var isConfirmed = false
    /// The ways on which alone it signs in; empty for any.
    var destinations: [DestinationConstraint] = []
    /// The time at which it is removed; nil for none.
    var end: ContinuousClock.Instant?

    init(_ constraints: [KeyConstraint] = []) {
        for constraint in constraints {
            switch constraint {
            case .lifetime(let seconds): end = .now + .seconds(Int(seconds))
            case .confirmation: isConfirmed = true
            case .destinations(let list): destinations += list
            }
        }
    }

    var haveEnded: Bool { end.map { $0 <= .now } ?? false }
}

/// Something that is kept until its time is over.
protocol Expiring: Sendable {
    associatedtype ID: Equatable & Sendable

    var id: ID { get }
    var limits: KeyLimits { get }
}

/// The elements that clients have added, each until its time is over, also where no request comes then.
final class ExpiringList<Element: Expiring>: Sendable {
    private struct State {
        var elements: [Element] = []
        /// The action that drops the next element whose time is over.
        var removal: UInt64?
    }

    private let state = Mutex(State())
    private let limit: Int
    private let didRemove: @Sendable (Element) -> Void

    /// - Parameters:
    ///   - limit: the elements that are kept at a time, so that a client cannot take all memory.
    ///   - didRemove: called with each element that was removed, and was not replaced.
    init(limit: Int, didRemove: @escaping @Sendable (Element) -> Void = { _ in }) {
        (self.limit, self.didRemove) = (limit, didRemove)
    }

    /// The elements whose time is not over, in the order in which they were added.
    var all: [Element] { dropping { $0.elements } }

    /// Adds an element, or replaces the one of the same id.
    ///
    /// - Returns: false for one too many.
    func add(_ element: Element) -> Bool {
        let isAdded = dropping { state in
            if let index = state.elements.firstIndex(where: { $0.id == element.id }) {
                state.elements[index] = element
                return true
            }
            guard state.elements.count < limit else { return false }
            state.elements.append(element)
            return true
        }
        if isAdded, element.limits.end != nil { planRemoval() }
        return isAdded
    }

    /// - Returns: false where there is no such element.
    func remove(_ id: Element.ID) -> Bool {
        let removed = dropping { state in
            state.elements.firstIndex { $0.id == id }.map { state.elements.remove(at: $0) }
        }
        if let removed { didRemove(removed) }
        return removed != nil
    }

    func removeAll() {
        let removed = dropping { state in
            defer { state.elements = [] }
            return state.elements
        }
        for element in removed { didRemove(element) }
    }

    /// Runs `body` without the elements whose time is over.
    private func dropping<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, ended) = state.withLock { state in
            let ended = state.elements.filter(\.limits.haveEnded)
            state.elements.removeAll(where: \.limits.haveEnded)
            return (body(&state), ended)
        }
        for element in ended { didRemove(element) }
        return result
    }

    private func planRemoval() {
        dropping { state in
            if let removal = state.removal { DelayedActions.shared.end(removal) }
            state.removal = state.elements.compactMap(\.limits.end).min().map { end in
                DelayedActions.shared.begin(after: ContinuousClock.now.duration(to: end)) { [weak self] in
                    self?.planRemoval()
                    return nil
                }
            }
        }
    }
}
