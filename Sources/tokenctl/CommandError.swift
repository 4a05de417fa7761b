/// The error of a command: the failure, its reason, and the remedy.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ why: String? = nil, advice: String? = nil) {
        description = what + (why.map { ": \($0)" } ?? "") + (advice.map { " (\($0))" } ?? "")
    }
}
