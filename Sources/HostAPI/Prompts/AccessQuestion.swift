package import Localization
internal import SecureBytes

/// The question whether a program may use a key or a secret. The host asks it, by its own means: no client answers it for itself.
public struct AccessQuestion: Sendable, Hashable {
    /// The numbers are those in keychain files, and never change.
    public enum Use: UInt8, Sendable, CaseIterable {
        case sign = 1
        case decrypt = 2
        case agree = 3
        /// To get a password, or another secret that is no private key.
        case read = 4
        /// To get a private key.
        case export = 5
    }

    /// The program as people know it. Its texts are the program's own choice.
    public struct Program: Sendable, Hashable {
        public let name: String
        public let path: String?
        /// The script of an interpreter, as the program says.
        public let script: String?
        /// The sandbox or container that it runs in.
        public let container: String?
        /// The name of the program that started it.
        public let starter: String?

        public init(
            name: String, path: String? = nil, script: String? = nil, container: String? = nil, starter: String? = nil
        ) {
            (self.name, self.path, self.script) = (name, path, script)
            (self.container, self.starter) = (container, starter)
        }
    }

    public let program: Program
    public let use: Use
    /// The name of the item.
    public let item: String
    /// The host or file for which the program says that it uses the item; nil where it does not say.
    public let purpose: String?
    /// Whether the answer may hold for ever.
    public let offersAlways: Bool
    /// Whether the program's file is another than when a person allowed its last use.
    public let hasChanged: Bool
    /// The program that wants all uses to be allowed from now on, also for another program; nil for a single use, which the program itself
    /// is about to make.
    public let requester: String?
    /// The machine that uses the item through the program, which forwards an SSH agent to it; nil for the program itself.
    public let machine: String?
    /// The time for an answer; no answer is a denial.
    public let patience: Duration

    public static let standardPatience: Duration = .seconds(60)

    public init(
        _ use: Use, of item: String, by program: Program, for purpose: String? = nil, offersAlways: Bool = true,
        hasChanged: Bool = false, requestedBy requester: String? = nil, from machine: String? = nil,
        patience: Duration = standardPatience
    ) {
        (self.program, self.use, self.item, self.purpose) = (program, use, item, purpose)
        (self.offersAlways, self.hasChanged, self.patience) = (offersAlways, hasChanged, patience)
        (self.requester, self.machine) = (requester, machine)
    }
}

/// A person's answer to an ``AccessQuestion``.
public enum AccessDecision: Sendable, Hashable {
    /// For this one use.
    case allowOnce
    /// For this use of this item by this program from now on.
    case allowAlways
    case deny
}

extension AccessQuestion {
    /// The question in lines for a person.
    ///
    /// The first line has no text of the program or the item: Qt takes a text for HTML whose first line has a tag. Every other text has a
    /// line of its own, without line breaks and of limited length, so that none can look like another line or push one out of sight.
    package var lines: [String] {
        if let machine { return [String(localized: "Another machine wants to \(use.words).")] + lines(from: machine) }
        let lines: [(LocalizedText, String?, length: Int)] = [
            ("Item", item, 90), ("Program", program.name, 60), ("File", program.path, 150),
            ("Script, as the program says", program.script, 90), ("Runs in", program.container, 60),
            ("Started by", program.starter, 40), ("For, as the program says", purpose, 150),
            ("Asked for by", requester, 60),
        ]
        let change = hasChanged ? [String(localized: "Its file has changed since you last allowed it something.")] : []
        let first: LocalizedText =
            requester == nil
            ? "A program wants to \(use.words)."
            : "Have a program use a key or a secret from now on, without a question?"
        return [String(localized: first)] + change
            + lines.compactMap { label, text, length in
                text.map { "\(label): \(AccessQuestion.shortened($0, to: length))" }
            }
    }

    /// The lines behind the first one where the purpose is what the data say that are signed.
    ///
    /// - Parameter machine: the machine that sends the request; nil for the program itself.
    package func lines(from machine: String?) -> [String] {
        let lines: [(LocalizedText, String?, length: Int)] = [
            ("To", purpose, 250), ("From", machine, AccessQuestion.machineLength), ("Key", item, 120),
            ("Program", program.name, 60),
            ("File", program.path, 150),
        ]
        return lines.compactMap { label, text, length in
            text.map { "\(label): \(AccessQuestion.shortened($0, to: length))" }
        }
    }

    private static let machineLength = 200

    /// Whether the question has all of a machine's name.
    package static func showsWhole(machine: String) -> Bool {
        shortened(machine, to: machineLength) == shortened(machine, to: .max)
    }

    /// The question before an answer that holds from now on, for the first line of a window.
    package var questionOfAlways: String { String(localized: alwaysText) }

    private var alwaysText: LocalizedText {
        machine == nil
            ? "Always allow it to \(use.words), without a question?"
            : "Always allow this machine to \(use.words), without a question?"
    }

    /// A text in one line, with single spaces, of at most so many bytes as pinentry gets them. A long one loses its middle.
    package static func shortened(_ text: String, to length: Int) -> String {
        let words = DisplayText.line(text).unicodeScalars.split { $0.properties.isWhitespace }
        let scalars = Array(words.joined(separator: " ".unicodeScalars))
        guard cost(scalars[...]) > length else { return String(scalars) }
        var (start, end) = (scalars[..<0], scalars[scalars.endIndex...])
        // The end of a path is the program's name.
        while cost(scalars[..<(start.endIndex + 1)]) <= length / 3 { start = scalars[..<(start.endIndex + 1)] }
        while cost(scalars[(end.startIndex - 1)...]) <= length - length / 3 - 3 {
            end = scalars[(end.startIndex - 1)...]
        }
        return "\(String(start))…\(String(end))"
    }

    /// The bytes of a text in UTF-8, with three for a percent sign, which the Assuan protocol escapes.
    private static func cost(_ scalars: ArraySlice<Unicode.Scalar>) -> Int {
        scalars.reduce(0) { $0 + ($1 == "%" ? 3 : UTF8.width($1)) }
    }
}

extension String {
    fileprivate init(_ scalars: some Sequence<Unicode.Scalar>) {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        self.init(view)
    }
}

extension AccessQuestion.Use {
    /// Completes "wants to …".
    package var words: LocalizedText {
        switch self {
        case .sign: "sign with a key"
        case .decrypt: "decrypt with a key"
        case .agree: "agree on a secret with a key"
        case .read: "read a secret"
        case .export: "take a private key out of its keychain"
        }
    }

    /// Completes "may not …".
    package func words(with item: String) -> LocalizedText {
        switch self {
        case .sign: "sign with '\(item)'"
        case .decrypt: "decrypt with '\(item)'"
        case .agree: "agree on a secret with '\(item)'"
        case .read: "read '\(item)'"
        case .export: "take the private key out of '\(item)'"
        }
    }
}
