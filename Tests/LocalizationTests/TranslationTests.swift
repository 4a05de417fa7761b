import Foundation
import TestSupport
import Testing

/// The translations in the folder po, each of which has to be complete.
@Suite struct TranslationTests {
    static let languages =
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path()))?
        .filter { $0.hasSuffix(".po") }.sorted() ?? []
    private static let folder = Program.packageRoot.appending(path: "po")

    @Test func germanIsThere() {
        #expect(TranslationTests.languages.contains("de.po"))
    }

    /// Each text has a translation, with the same placeholders, that is not only a guess of msgmerge (fuzzy).
    @Test(arguments: languages)
    func everyTextIsTranslated(_ language: String) throws {
        let template = try Entry.all(in: TranslationTests.folder.appending(path: "tokenkit.pot"))
        let entries = try Entry.all(in: TranslationTests.folder.appending(path: language))
        #expect(template.count > 1000)
        let translations = Dictionary(entries.map { ($0.key, $0) }) { first, _ in first }
        for text in template where !text.key.isEmpty {
            guard let entry = translations[text.key] else {
                Issue.record("\(language) lacks '\(text.key)': run Scripts/catalogue")
                continue
            }
            #expect(!entry.isFuzzy, "'\(text.key)' is marked fuzzy: check it, and take the mark away")
            #expect(entry.plural == text.plural, "\(text.key)")
            #expect(
                !entry.translations.isEmpty && entry.translations.allSatisfy { !$0.isEmpty },
                "'\(text.key)' has no translation")
            let wanted = Entry.placeholders(text.plural ?? text.key)
            // The form for one may leave the number out.
            let last = entry.translations.last ?? ""
            #expect(Entry.placeholders(last) == wanted, "'\(text.key)' and '\(last)' have other placeholders")
            for form in entry.translations { #expect(Entry.placeholders(form).isSubset(of: wanted), "\(form)") }
        }
        let keys = Set(template.map(\.key))
        for entry in entries {
            #expect(keys.contains(entry.key), "no source has '\(entry.key)': run Scripts/catalogue")
        }
    }
}

/// An entry of a file of translations, gettext(info) "PO Files".
private struct Entry {
    var key = ""
    var plural: String?
    var translations: [String] = []
    var isFuzzy = false

    static func all(in file: URL) throws -> [Entry] {
        var entries: [Entry] = []
        for block in try String(contentsOf: file, encoding: .utf8).split(separator: "\n\n") {
            var entry = Entry()
            var field = ""
            for line in block.split(separator: "\n") {
                if line.hasPrefix("#~") { continue }
                if line.hasPrefix("#") {
                    if line.hasPrefix("#,"), line.contains("fuzzy") { entry.isFuzzy = true }
                    continue
                }
                guard let quote = line.firstIndex(of: "\"") else { continue }
                let name = line[..<quote].filter { $0 != " " }
                if !name.isEmpty {
                    field = String(name)
                    if field.hasPrefix("msgstr") { entry.translations.append("") }
                    if field == "msgid_plural" { entry.plural = "" }
                }
                entry.add(unquoted(line[quote...]), to: field)
            }
            if !field.isEmpty { entries.append(entry) }
        }
        return entries
    }

    private mutating func add(_ text: String, to field: String) {
        switch field {
        case "msgid": key += text
        case "msgid_plural": plural? += text
        default: translations[translations.count - 1] += text
        }
    }

    private static func unquoted(_ text: Substring) -> String {
        (try? JSONDecoder().decode(String.self, from: Data(text.utf8))) ?? String(text)
    }

    static func placeholders(_ text: String) -> Set<String> {
        Set(text.matches(of: /%\d+\$@/).map { String($0.output) })
    }
}
