internal import Platform
internal import KeychainModel
internal import ArgumentParser
internal import FoundationEssentials
internal import HostAPI

/// The names of keychains, cards and keys that a shell offers. No card is asked: those that were read before are
/// offered.
enum Completions {
    static var keychains: CompletionKind {
        .custom { _, _, word in offered(word.contains("/") ? files(word) : namesOfFiles() + cardNames()) }
    }

    static var cards: CompletionKind { .custom { _, _, _ in offered(cardNames()) } }

    static var keys: CompletionKind { .custom { _, _, _ in offered(keyNames()) } }

    /// The names that every shell quotes on the command line, whatever its settings, in the form in which it takes them. A card's
    /// label or a file's name may be a command: names with characters that a shell expands are left out.
    static func offered(_ names: [String], in shell: CompletionShell? = .requesting) -> [String] {
        let isSafe: (String) -> Bool = { $0.wholeMatch(of: /[\p{L}\p{N}\/][\p{L}\p{N} ._:@%+,='()&#\/-]*/) != nil }
        let safe = Set(names.filter(isSafe)).sorted()
        return switch shell {
        // bash expands the words that it is given, and quotes the one that is chosen.
        case .bash: safe.map(ShellText.quoted)
        // zsh takes the text after a colon for a description.
        case .zsh: safe.map { $0.replacing(":", with: "\\:") }
        default: safe
        }
    }

    private static func namesOfFiles() -> [String] {
        let own = files(Directories.own.keychains + "/").filter { !$0.hasSuffix("/") }
        return (((try? KeychainName.listed()) ?? []) + own).map(Directories.keychainName(ofFile:))
    }

    /// The folders and the keychain files in the folder of a path.
    private static func files(_ word: String) -> [String] {
        let folder = word.lastIndex(of: "/").map { String(word[...$0]) } ?? ""
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.compactMap { name in
            let path = folder + name
            var isFolder = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
            return isFolder ? path + "/" : name.hasSuffix(Directories.keychainSuffix) ? path : nil
        }
    }

    private static func cardNames() -> [String] {
        let known = (try? HostAccess().host.keychains(.knownCards, .silent).found) ?? []
        return known.flatMap { [$0.identifier.rawValue, $0.name] }
    }

    private static func keyNames() -> [String] {
        guard let session = try? CommandKeychains(cards: false) else { return [] }
        let onCards = (try? session.host.keys(matching: KeyQuery(.any, in: .knownTokens), .silent).found) ?? []
        let inFiles = (try? session.keys(.any).found) ?? []
        return onCards.map(\.name) + inFiles.compactMap(\.item.label)
    }
}
