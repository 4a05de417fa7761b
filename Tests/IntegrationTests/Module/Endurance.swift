import Foundation

/// How long a test goes on with what chance decides, by variables that `make endure` sets.
enum Endurance {
    static func number(_ variable: String) -> Int? { ProcessInfo.processInfo.environment[variable].flatMap(Int.init) }
}
