internal import ArgumentParser
internal import TokenKit

/// The `-w` of `add-generic-password` and `add-internet-password`, which may stand without a value, as in macOS's
/// `security`.
enum PasswordArgument {
    /// What stands for the value that is not there.
    static let ask = "\u{0}"

    /// The arguments with a value after each bare `-w` of a command where it takes one.
    static func expanded(_ arguments: [String]) -> [String] {
        guard let verb = arguments.first, verb.hasPrefix("add-"), verb.hasSuffix("-password") else { return arguments }
        return arguments.indices.flatMap { index in
            // The older spelling, which an internet password needs for its path.
            let isOld = verb == "add-generic-password" && arguments[index] == "-p"
            guard arguments[index] == "-w" || isOld else { return [arguments[index]] }
            let isBare = index + 1 == arguments.count || arguments[index + 1].hasPrefix("-")
            return isBare ? ["-w", ask] : ["-w"]
        }
    }
}

/// A secret that was given as an argument.
enum SecretArgument {
    static func secret(_ text: String) -> Secret {
        warn()
        var bytes = Array(text.utf8)
        return Secret(consuming: &bytes)
    }

    /// What the help says of an option that takes one.
    static func help(_ what: String) -> ArgumentHelp {
        ArgumentHelp("\(what) Other programs can see it: better leave it out, and be asked.", valueName: "password")
    }

    static func warn() {
        printError("warning: other programs can see a password on the command line; leave it out to be asked")
    }
}
