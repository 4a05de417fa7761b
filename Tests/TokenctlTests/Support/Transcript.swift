/// A terminal session as text: commands and their expected results.
///
///     @card yubikey-5.7 --key 9A=p256     the environment of the session; see Stage
///     @secret 123456                      a text that must not occur, unless a line expects it
///     $ tokenctl sign -k 9A -o sig text   a bash command that has to succeed
///     ! tokenctl frob                     a command that has to fail with exit status 1
///     !44 tokenctl find-certificate       a command that has to fail with exit status 44
///     2> tokenctl: …                      a line of standard error
///     Verified OK                         any other line: standard output
///
/// Both streams have to be exactly as written. `…` stands for any text within a line, and alone on a line for any lines. A line
/// that starts with `#`, and an empty one before a command, is a comment.
struct Transcript {
    struct Step: Equatable {
        var line: Int
        var command: String
        var status: Int32 = 0
        var output: [String] = []
        var errors: [String] = []
    }

    /// The environment of the session: the words after each `@`.
    private(set) var stage: [[String]] = []
    private(set) var secrets: [String] = []
    private(set) var steps: [Step] = []

    /// The error for a line that is none of the above.
    struct Malformed: Error, Equatable {
        let line: Int
    }

    init(_ text: String) throws(Malformed) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            try add(String(line), number: index + 1)
        }
        for index in steps.indices {
            while steps[index].output.last == "" { steps[index].output.removeLast() }
        }
    }

    private mutating func add(_ line: String, number: Int) throws(Malformed) {
        if line.hasPrefix("#") { return }
        if line.hasPrefix("@secret ") {
            secrets.append(String(line.dropFirst(8)))
        } else if line.hasPrefix("@") {
            stage.append(line.dropFirst().split(separator: " ").map(String.init))
        } else if line.hasPrefix("$ ") {
            steps.append(Step(line: number, command: String(line.dropFirst(2))))
        } else if line.hasPrefix("!") {
            let (status, command) = try Transcript.failing(line.dropFirst(), number)
            steps.append(Step(line: number, command: command, status: status))
        } else if steps.isEmpty {
            guard line.isEmpty else { throw Malformed(line: number) }
        } else if line.hasPrefix("2> ") {
            steps[steps.count - 1].errors.append(String(line.dropFirst(3)))
        } else {
            steps[steps.count - 1].output.append(line)
        }
    }

    private static func failing(_ text: Substring, _ line: Int) throws(Malformed) -> (Int32, String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let status = parts[0].isEmpty ? 1 : Int32(parts[0]) else {
            throw Malformed(line: line)
        }
        return (status, String(parts[1]))
    }
}

/// Text with gaps.
enum Pattern {
    private static let gap: Character = "…"

    /// Whether the lines match the expected ones.
    static func matches(_ expected: [String], _ actual: [String]) -> Bool {
        matches(expected[...], actual[...], isGap: { $0 == String(gap) }, same: line)
    }

    static func line(_ expected: String, _ actual: String) -> Bool {
        matches(Array(expected)[...], Array(actual)[...], isGap: { $0 == gap }, same: ==)
    }

    /// Matches each gap with as little as possible, and extends the last gap after a mismatch.
    private static func matches<Element>(
        _ expected: ArraySlice<Element>, _ actual: ArraySlice<Element>, isGap: (Element) -> Bool,
        same: (Element, Element) -> Bool
    ) -> Bool {
        var (expectedAt, actualAt) = (expected.startIndex, actual.startIndex)
        var retry: (expected: Int, actual: Int)?
        while actualAt < actual.endIndex {
            if expectedAt < expected.endIndex, isGap(expected[expectedAt]) {
                expectedAt += 1
                retry = (expectedAt, actualAt)
            } else if expectedAt < expected.endIndex, same(expected[expectedAt], actual[actualAt]) {
                expectedAt += 1
                actualAt += 1
            } else if let last = retry {
                expectedAt = last.expected
                actualAt = last.actual + 1
                retry = (expectedAt, actualAt)
            } else {
                return false
            }
        }
        return expected[expectedAt...].allSatisfy(isGap)
    }
}
