/// Why a command could not do what it was asked: what failed, why, and what to do.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ why: String? = nil, advice: String? = nil) {
        description = what + (why.map { ": \($0)" } ?? "") + (advice.map { " (\($0))" } ?? "")
    }
}
