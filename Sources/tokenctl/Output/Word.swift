internal import Localization

/// Words and headings that are the same for programs in all languages, and shown to people in theirs.
enum Word {
    /// The word in the current language, if it is one that the catalogue has; any other text as it is.
    static func shown(_ word: String) -> String { String(localized: LocalizedText(key: word)) }

    /// The words that are shown so, besides columns and names of facts: states, answers, abilities and kinds.
    static let known: [LocalizedKey] = [
        "ok", "note", "missing", "yes", "no", "none", "any", "unknown", "allow", "deny", "unlocked", "locked",
        "PIN presented", "set", "empty", "read-only", "copy", "damaged", "unprotected", "unusable", "card", "token",
        "file",
        "never", "once", "always", "cached", "public", "private", "symmetric", "sign", "decrypt", "agree", "read",
        "export",
        "derive", "unwrap", "verify", "encrypt", "wrap", "searched", "skipped", "failed", "management key", "keychain",
        "keychains", "host", "module", "settings", "installation", "versions", "units", "programs", "other modules",
        "wrong PINs", "Subcommands", "Arguments", "Options",
    ]
}
