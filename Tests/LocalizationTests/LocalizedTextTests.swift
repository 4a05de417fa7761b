import Foundation
import TestSupport
import Testing

@testable import Localization

/// Texts in English and in the languages of catalogues.
@Suite struct LocalizedTextTests {
    private let folder: TemporaryFolder
    private let german: Language

    init() throws {
        folder = try TemporaryFolder()
        german = try Self.language(
            """
            msgid "no driver '%1$@' for %2$@"
            msgstr "für %2$@ kein Treiber »%1$@«"

            msgid "%1$@ item"
            msgid_plural "%1$@ items"
            msgstr[0] "%1$@ Eintrag"
            msgstr[1] "%1$@ Einträge"

            msgid "100 %"
            msgstr "100 Prozent"

            msgid "half: %1$@ %%"
            msgstr "Hälfte: %1$@ %%"

            msgid "a card"
            msgstr "eine Karte"

            msgid "untranslated"
            msgstr ""

            msgid "wrong %1$@"
            msgstr "%2$@ %0$@ %1$ %99999999999999999999$@ %d %n % %"

            """, in: folder)
    }

    private static func language(
        _ entries: String, plural: String = "nplurals=2; plural=n != 1;", in folder: TemporaryFolder
    ) throws -> Language {
        let name = UUID().uuidString
        let source = folder.path("\(name).po")
        let header = """
            msgid ""
            msgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: \(plural)\\n"


            """
        try (header + entries).write(toFile: source, atomically: true, encoding: .utf8)
        let place = folder.path("\(name)/de/LC_MESSAGES")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let result = try Program.run(["msgfmt", "--output-file=\(place)/tokenkit.mo", source])
        #expect(result.status == 0, "\(result)")
        return Language(in: folder.path(name)) { $0 == "LANG" ? "de_AT.UTF-8" : nil }
    }

    @Test func englishIsWhatTheSourcesSay() {
        let (name, percent) = ("x", 5)
        let text: LocalizedText = "no driver '\(name)' for \(percent) %"
        #expect(text.rendered(in: .english) == "no driver 'x' for 5 %")
        #expect(text.format == "no driver '%1$@' for %2$@ %%")
        #expect(("100 %" as LocalizedText).rendered(in: .english) == "100 %")
        #expect("\("")" as LocalizedText == "\("")")
    }

    @Test func translationsMayQuoteInAnotherOrder() {
        let text: LocalizedText = "no driver '\("x")' for \("a card" as LocalizedText)"
        #expect(text.rendered(in: german) == "für eine Karte kein Treiber »x«")
        #expect(("100 %" as LocalizedText).rendered(in: german) == "100 Prozent")
        #expect(("half: \(50) %" as LocalizedText).rendered(in: german) == "Hälfte: 50 %")
    }

    /// Values are no formats.
    @Test func aQuotedTextIsNotFilled() {
        let text: LocalizedText = "no driver '\("%2$@ %%")' for \("%1$@")"
        #expect(text.rendered(in: .english) == "no driver '%2$@ %%' for %1$@")
        #expect(text.rendered(in: german) == "für %1$@ kein Treiber »%2$@ %%«")
        #expect(LocalizedText(verbatim: "50 %").rendered(in: german) == "50 %")
    }

    @Test(arguments: [(0, "0 Einträge"), (1, "1 Eintrag"), (2, "2 Einträge")])
    func numbersChooseForms(_ count: Int, _ wanted: String) {
        let text = LocalizedText.plural(count, one: "\(count) item", other: "\(count) items")
        #expect(text.rendered(in: german) == wanted)
        #expect(text.rendered(in: .english) == (count == 1 ? "1 item" : "\(count) items"))
    }

    /// A translation with other placeholders than its text must not crash.
    @Test func wrongPlaceholdersStay() {
        let text: LocalizedText = "wrong \("x")"
        #expect(text.rendered(in: german) == "%2$@ %0$@ %1$ %99999999999999999999$@ %d %n % %")
    }

    @Test func textsWithoutATranslationStayEnglish() {
        #expect(("untranslated" as LocalizedText).rendered(in: german) == "untranslated")
        #expect(("unknown \(1)" as LocalizedText).rendered(in: german) == "unknown 1")
        #expect(("" as LocalizedText).rendered(in: german) == "")
    }

    @Test func theCurrentLanguageIsTheCallersChoice() {
        let text: LocalizedText = "a card"
        #expect(Language.$current.withValue(german) { "\(text)" } == "eine Karte")
        #expect(Language.$current.withValue(.english) { String(localized: text) } == "a card")
    }

    @Test func jsonIsEnglish() throws {
        let json = try Language.$current.withValue(german) { try JSONEncoder().encode(["a card" as LocalizedText]) }
        #expect(String(decoding: json, as: UTF8.self) == #"["a card"]"#)
    }

    @Test(arguments: [
        (["LANG": "de_DE.UTF-8"], ["de_DE", "de"]), (["LANG": "de"], ["de"]), (["LANG": "C.UTF-8"], []),
        (["LANG": "de_DE@euro"], ["de_DE@euro", "de_DE", "de@euro", "de"]), ([:], []), (["LANG": ""], []),
        (["LANG": "fr_FR", "LC_MESSAGES": "de_DE", "LC_ALL": ""], ["de_DE", "de"]),
        (["LANG": "fr_FR", "LC_MESSAGES": "de_DE", "LC_ALL": "C"], []), (["LC_ALL": "POSIX", "LANGUAGE": "de"], []),
        (["LC_ALL": "C.UTF-8", "LANGUAGE": "de:fr"], ["de", "fr"]), (["LANGUAGE": "de"], []),
        (["LANG": "../../tmp"], []), (["LANG": "de/../x"], []), (["LANG": "en_GB", "LANGUAGE": "../x:de"], ["de"]),
    ])
    func variablesChooseTheLanguage(_ variables: [String: String], _ wanted: [String]) {
        #expect(Language.names { variables[$0] } == wanted)
    }

    @Test func englishBeforeAnotherLanguageIsEnglish() {
        #expect(Language(in: folder.path) { ["LANG": "C.UTF-8", "LANGUAGE": "en_GB:de"][$0] }.isEnglish)
        #expect(Language(in: folder.path("nowhere")) { ["LANG": "de_DE"][$0] }.isEnglish)
    }

    @Test(arguments: [
        (
            "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2;",
            [0: 2, 1: 0, 2: 1, 5: 2, 11: 2, 21: 0, 22: 1, 112: 2]
        ),
        ("nplurals=1; plural=0;", [0: 0, 1: 0, 7: 0]), ("nplurals=2; plural=n>1;", [0: 0, 1: 0, 2: 1]),
        ("nplurals=2; plural=n%0;", [3: 0]),
    ])
    func pluralsFollowTheRulesOfC(_ rule: String, _ forms: [Int: Int]) throws {
        let rules = try #require(PluralForms(header: "X: y\nPlural-Forms: \(rule)\n"))
        for (number, form) in forms { #expect(rules.index(of: number) == form, "\(number)") }
    }

    @Test(arguments: [
        "plural=(n", "plural=", "plural=n ? 1", "plural=n n", "plural=" + String(repeating: "(", count: 900), "other=1",
    ])
    func aRuleThatCannotBeReadIsNone(_ rule: String) {
        #expect(PluralForms(header: "Plural-Forms: nplurals=2; \(rule);") == nil)
    }

    /// A damaged catalogue has other texts, or none.
    @Test func aDamagedCatalogueDoesNoHarm() throws {
        let name = UUID().uuidString
        let file = folder.path("\(name).mo")
        let source = folder.path("\(name).po")
        try "msgid \"a card\"\nmsgstr \"eine Karte\"\n".write(toFile: source, atomically: true, encoding: .utf8)
        #expect(try Program.run(["msgfmt", "--output-file=\(file)", source]).status == 0)
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        #expect(Catalogue(bytes)?.translation(of: "a card") == "eine Karte")
        for index in bytes.indices {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] {
                var damaged = bytes
                damaged[index] = value
                _ = Catalogue(damaged)?.translation(of: "a card", count: 3)
            }
            _ = Catalogue(Array(bytes[..<index]))?.translation(of: "a card")
        }
    }
}
