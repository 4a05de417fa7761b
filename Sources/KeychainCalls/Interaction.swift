internal import Synchronization

/// Whether this process may ask for passwords.
package final class Interaction: Sendable {
    private let allowed: Atomic<Bool>

    package init(isAllowed: Bool = true) {
        allowed = Atomic(isAllowed)
    }

    package var isAllowed: Bool {
        get { allowed.load(ordering: .acquiring) }
        set { allowed.store(newValue, ordering: .releasing) }
    }
}
