internal import Synchronization

/// Whether this process may ask for passwords.
package final class Interaction: Sendable {
    private let allowed = Atomic(true)

    package init() {}

    package var isAllowed: Bool {
        get { allowed.load(ordering: .acquiring) }
        set { allowed.store(newValue, ordering: .releasing) }
    }
}
