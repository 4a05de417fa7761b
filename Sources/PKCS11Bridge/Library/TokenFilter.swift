/// The tokens that this copy of the module shows.
///
/// Some programs try a PIN on every token, though it is meant for one. So a copy of the module shows only the tokens that its
/// name says: `libtokenkit-pkcs11-cards.so`, `…-12345678.so` (a serial number), `…-login.so` (a keychain).
/// `TOKENKIT_PKCS11_TOKENS` says the same for a process, in one or more words with commas between.
package struct TokenFilter: Sendable {
    /// Nil for all.
    private let words: Set<String>?

    package init(words: Set<String>? = nil) {
        self.words = words
    }

    /// - Parameters:
    ///   - path: the path that the module was loaded from.
    ///   - variable: the value of `TOKENKIT_PKCS11_TOKENS`.
    package init(path: String?, variable: String?) {
        if let variable, !variable.isEmpty {
            // A list of empty words shows no token, not all.
            self.init(words: Set(variable.split(separator: ",").map(TokenFilter.trimmed)).subtracting([""]))
            return
        }
        let file = path?.split(separator: "/").last.map(String.init) ?? ""
        guard file.hasPrefix(TokenFilter.prefix), file.hasSuffix(".so") else {
            self.init()
            return
        }
        self.init(words: [String(file.dropFirst(TokenFilter.prefix.count).dropLast(3))])
    }

    private static func trimmed(_ word: Substring) -> String {
        String(word.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }

    private static let prefix = "libtokenkit-pkcs11-"

    /// Whether the cards in readers are looked at.
    var wantsCards: Bool { words.map { !$0.isSubset(of: ["keychains"]) } ?? true }

    /// Whether every card is wanted.
    var wantsAllCards: Bool { words.map { $0.contains("cards") } ?? true }

    /// - Parameter serialNumber: as the token's information shows it.
    func wants(card serialNumber: String) -> Bool {
        wantsAllCards || words.map { $0.contains(serialNumber) } ?? true
    }

    func wants(keychain name: String) -> Bool {
        words.map { $0.contains("keychains") || $0.contains(name) } ?? true
    }
}
