import Foundation

/// Checks a condition a hundred times a second until it holds.
///
/// - Parameter seconds: the longest time to wait.
/// - Returns: whether the condition holds.
@discardableResult
public func eventually(within seconds: Double = 30, _ holds: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !holds() {
        guard ContinuousClock.now < deadline else { return false }
        usleep(10_000)
    }
    return true
}
