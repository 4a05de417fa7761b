internal import Platform
internal import KeychainModel
internal import ArgumentParser
internal import FoundationEssentials
internal import KeychainHost
internal import TokenKit

/// The names of keychains, cards and keys that a shell offers. No card is asked: those that were read before are
/// offered.
enum Completions {
    static var keychains: CompletionKind {
        .custom { _, _, word in offered(word.contains("/") ? files(word) : names(ofKeychains: .own) + cardNames()) }
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

    private static func names(ofKeychains preferences: KeychainPreferences) -> [String] {
        let paths = ((try? preferences.searchList()) ?? []) + preferences.directories.keychainFiles()
        return paths.map(LocalKeychain.name(ofFile:))
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

    private static func cardNames() -> [String] { known.flatMap { [$0.identity.id.description, $0.identity.label] } }

    private static func keyNames() -> [String] {
        let onCards = known.flatMap { $0.inventory.objects.filter { $0.key != nil } }.map(\.id.rawValue)
        let keys: Attributes = [
            .keyClass: KeyClass.private.value, .synchronizable: Query.anySynchronizable,
        ]
        let locals = (try? CommandKeychains(cards: false).locals) ?? []
        let labels = locals.flatMap { keychain in
            ((try? keychain.items(matching: Query(.key, keys, limit: .all)).found) ?? []).compactMap(\.label)
        }
        return onCards + labels
    }

    private static var known: [KnownToken] { (try? ProcessKeychains(nil).knownTokens()) ?? [] }
}
