/// The `-w` of `add-generic-password`, which may stand without a value, as in macOS's `security`.
enum PasswordArgument {
    /// What stands for the value that is not there.
    static let ask = "\u{0}"

    /// The arguments with a value after each bare `-w` of a command where it takes one.
    static func expanded(_ arguments: some Sequence<String>) -> [String] {
        let arguments = Array(arguments)
        guard arguments.first == "add-generic-password" else { return arguments }
        return arguments.indices.flatMap { index in
            let isBare = index + 1 == arguments.count || arguments[index + 1].hasPrefix("-")
            return arguments[index] == "-w" && isBare ? ["-w", ask] : [arguments[index]]
        }
    }
}
