/// Which tokens this copy of the module shows.
///
/// A PIN that a program tries on every token is meant for one. So a copy of the module shows only what its name says:
/// `libtokenkit-pkcs11-cards.so`, `…-12345678.so` (a serial number), `…-login.so` (a keychain). `TOKENKIT_PKCS11_TOKENS`
/// says the same for a process, in one or more words with commas between.
package struct TokenFilter: Sendable {
    private let words: Set<String>

    package init(words: Set<String> = []) {
        self.words = words
    }

    /// - Parameters:
    ///   - path: where the module was loaded from.
    ///   - variable: the value of `TOKENKIT_PKCS11_TOKENS`.
    package init(path: String?, variable: String?) {
        if let variable, !variable.isEmpty {
            // No word at all names nothing, not everything.
            let words = variable.split(separator: ",", omittingEmptySubsequences: false).map(TokenFilter.trimmed)
            self.init(words: Set(words))
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

    /// Whether readers are to be looked into at all.
    var wantsCards: Bool { words.isEmpty || !words.isSubset(of: ["keychains"]) }

    /// - Parameter serialNumber: as the token's information shows it.
    func wants(card serialNumber: String) -> Bool {
        words.isEmpty || words.contains("cards") || words.contains(serialNumber)
    }

    func wants(keychain name: String) -> Bool {
        words.isEmpty || words.contains("keychains") || words.contains(name)
    }
}
