import Foundation
import Testing

@testable import SecureBytes

@Suite struct DisplayTextTests {
    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("Jö 鍵 🔑", "Jö 鍵 🔑"), ("a\tb", #"a\09b"#), ("\r\n", #"\0D\0A"#),
        ("\u{7F}", #"\7F"#), ("\u{85}", #"\C2\85"#), ("\u{2028}\u{2029}", #"\E2\80\A8\E2\80\A9"#),
        ("\u{FEFF}x", #"\EF\BB\BFx"#), ("\u{E000}", #"\EE\80\80"#), ("\u{2066}x\u{2069}", #"\E2\81\A6x\E2\81\A9"#),
    ])
    func `A character that a terminal obeys is escaped as in names of RFC 4514`(_ text: String, _ escaped: String) {
        #expect(DisplayText.escaped(text) == escaped)
        #expect(DisplayText.escaped(escaped) == escaped)
    }

    /// Controls, line ends, the reading direction, joiners and spaces without width, fillers, selectors, tags, private use.
    static let hidden: [Unicode.Scalar] = [
        "\u{00}", "\t", "\n", "\r", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{AD}", "\u{34F}", "\u{61C}", "\u{115F}",
        "\u{180E}", "\u{200B}", "\u{200D}", "\u{200E}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2060}", "\u{2066}",
        "\u{2069}", "\u{2800}", "\u{3164}", "\u{FE0F}", "\u{FEFF}", "\u{FFA0}", "\u{E000}", "\u{E0041}", "\u{E0100}",
        "\u{10FFFD}",
    ]

    @Test(arguments: hidden)
    func `A character that is not shown as itself is in no line`(_ scalar: Unicode.Scalar) {
        #expect(DisplayText.line("a\(scalar)b") == "a\u{FFFD}b")
    }

    @Test(arguments: hidden)
    func `JSON keeps the value of what is not shown, and none of it is in the text`(_ scalar: Unicode.Scalar) throws {
        let value = "a\(scalar)b🔑é"
        let text = DisplayText.json(String(decoding: try JSONEncoder().encode([value]), as: UTF8.self))
        #expect(text.unicodeScalars.allSatisfy(DisplayText.isShown))
        #expect(try JSONDecoder().decode([String].self, from: Data(text.utf8)) == [value])
    }

    @Test func `JSON stays in the lines that it is laid out in`() {
        #expect(DisplayText.json("{\n  \"a\" : \"\u{202E}\u{E0041}\"\n}") == #"{\#n  "a" : "\u202e\udb40\udc41"\#n}"#)
    }

    @Test func `What people write is shown as it is`() {
        let text = "Zoë Ünsal, 山田 太郎, Иван, مريم, नमस्ते 🔑 — “x” €"
        #expect(DisplayText.line(text) == text)
        #expect(DisplayText.json(text) == text)
    }
}
