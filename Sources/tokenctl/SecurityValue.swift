internal import ArgumentParser
internal import Localization

/// The reason why a value of `security` is not taken, and what to use instead.
typealias MissingValue = (why: LocalizedText, instead: LocalizedText)

/// A value of an option by its name in macOS's `security`. Some of these names have no meaning on Linux.
protocol SecurityValue: CaseIterable, RawRepresentable<String> {
    /// The names of macOS's `security` that are not taken, the reasons, and the alternatives.
    static var missing: [String: MissingValue] { get }
}

extension SecurityValue {
    /// - Throws: why there is no such value.
    init(security name: String) throws {
        if let missing = Self.missing[name] { throw CommandError(missing.why, advice: missing.instead) }
        guard let value = Self(rawValue: name) else { throw CommandError("it has to be one of \(Self.names)") }
        self = value
    }

    /// The help of an option that takes such a value.
    static func help(_ summary: LocalizedText, _ valueName: LocalizedKey) -> ArgumentHelp {
        ArgumentHelp(String(localized: "\(summary) (values: \(names))"), valueName: valueName)
    }

    static var completion: CompletionKind { .list(allCases.map(\.rawValue)) }

    private static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// Formats of keys and certificates that are neither read nor written.
enum MissingFormat {
    static let openssh1: MissingValue = (
        why: "no version of SSH that is in use takes keys in it", instead: "use openssh2"
    )
    static let bsafe: MissingValue = (
        why: "only the library that it is called after knows it", instead: "use pkcs8 or openssl"
    )
    static let netscape: MissingValue = (why: "no program writes it any more", instead: "use pkcs7, x509 or pemseq")
    static let raw: MissingValue = (
        why: "symmetric keys are not in files of their own", instead: "use 'tokenctl item -a -f'"
    )
}
