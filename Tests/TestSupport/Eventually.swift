import Foundation

/// Looks a hundred times a second whether something holds, until it does.
///
/// - Parameter seconds: for how long at the most.
/// - Returns: whether it does.
@discardableResult
public func eventually(within seconds: Double = 30, _ holds: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !holds() {
        guard ContinuousClock.now < deadline else { return false }
        usleep(10_000)
    }
    return true
}
