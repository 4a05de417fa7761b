import Localization
import Testing

@testable import KeychainModel
@testable import Settings

@Suite struct PreferencesTextTests {
    private func parse(_ text: String) throws -> PreferencesText {
        try PreferencesText(parsing: text, of: "FILE")
    }

    @Test func settingsAreReadInTheOrderOfTheirLines() throws {
        let text = try parse("# a comment\n\nkeychain = /a\n\tkeychain=~/b \r\ndefault-keychain = /a # b\n")
        #expect(text[.keychain] == ["/a", "~/b"])
        #expect(text[.defaultKeychain] == ["/a # b"])
        #expect(text[.loginKeychain] == nil)
    }

    @Test func noLineIsNotTheSameAsALineWithoutAValue() throws {
        #expect(try parse("")[.keychain] == nil)
        #expect(try parse("keychain =")[.keychain] == [])
        #expect(try parse("keychain =\nkeychain = /a")[.keychain] == ["/a"])
    }

    @Test(arguments: [
        ("keychain", "line 1 of FILE is not of the form"), ("\nkeychains = /a", "line 2 of FILE sets 'keychains'"),
        ("keychain = a", "starts with neither"), ("keychain = ~", "starts with neither"), ("= /a", "sets ''"),
        ("Keychain = /a", "sets 'Keychain'"),
        ("default-keychain = /a\ndefault-keychain = /a", "line 2 of FILE sets default-keychain again"),
        ("pin-timeout = 0", "not a number of seconds"), ("pin-timeout = 5m", "not a number of seconds"),
        ("pin-timeout = -1", "not a number of seconds"), ("pin-timeout = 4294967296", "not a number of seconds"),
        ("pin-timeout = 1\npin-timeout = 2", "line 2 of FILE sets pin-timeout again"),
        ("password-cost = 8", "a cost that is none of 16, 32"),
        ("password-cost = 100", "a cost that is none of 16, 32"),
        ("password-cost = 16 MiB", "a cost that is none of"), ("password-cost = 1024", "a cost that is none of"),
        ("pin-timeout = 1 2", "not a number of seconds"), ("locked keychain = /a", "sets 'locked keychain'"),
        ("fixed = /a", "sets 'fixed'"), ("fixed preset keychain = /a", "sets 'fixed preset keychain'"),
        ("fixed keychain = /a\nkeychain = /b", "line 2 of FILE differs from another line with keychain"),
        ("keychain = \"/a", "a quote that is not closed"), ("keychain = \"/a\\\"", "a quote that is not closed"),
        ("keychain = \"/a\" /b", "starts with neither"),
        ("\n\nkeychain = /a\0b", "line 3 of FILE has a control character"),
        ("keychain = /a\u{1B}[2J", "a control character"), ("keychain = /a\u{7F}b", "a control character"),
    ])
    func whatIsNoSettingIsRefusedByItsLine(content: String, reason: String) throws {
        let error = try #require(throws: KeychainError.self) { try parse(content) }
        #expect(error.code == .decode)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test func aQuotedValueMayBeginAndEndWithBlanksAndOtherSettingsHaveComments() throws {
        let text = try parse(
            "keychain = \"/a \" # mine\nkeychain = \"/\\\"\\\\\"\nkeychain = /a\"b\"\npin-timeout = 900 # a quarter\n"
                + "pin-proof = # unset\n")
        #expect(text[.keychain] == ["/a ", "/\"\\", "/a\"b\""])
        #expect(text[.pinTimeout] == ["900"])
        #expect(text[.pinProof] == [])
    }

    @Test func aWordBeforeTheNameStaysWhenTheValueChanges() throws {
        var text = try parse("fixed keychain = /a\npreset\tpin-timeout=900\npin-proof = on\n")
        #expect(text.choice(for: .keychain) == .fixed)
        #expect(text.choice(for: .pinTimeout) == .preset)
        #expect(text.choice(for: .pinProof) == nil && text.choice(for: .defaultKeychain) == nil)
        try text.set(.keychain, to: ["/b", "/c"])
        try text.set(.pinTimeout, to: ["60"])
        #expect(text.text == "fixed keychain = /b\nfixed keychain = /c\npreset pin-timeout = 60\npin-proof = on\n")
        try text.set(.keychain, to: nil)
        #expect(text.choice(for: .keychain) == nil)
    }

    @Test func eachLineWithAFaultIsNamed() {
        let text = "keychain = a\nkeychain = /b\nkeychains = /c\r\npin-proof = maybe"
        #expect(PreferencesText.faults(in: text).map(\.line) == [1, 3, 4])
        #expect(AccessRules.faults(in: "allow /a\nallow\n\nallow \"/a\n\0").map(\.line) == [2, 4, 5])
        #expect(DisabledDrivers.faults(in: "piv\n# none\npiv other\n\"piv").map(\.line) == [3, 4])
    }

    /// The longest line that a file can have is read in time that grows with its length alone.
    @Test(arguments: ["", "\"", "#"]) func aLongLineIsReadInTime(start: String) {
        let line = start + String(repeating: "a\u{301} ", count: SettingsLine.maximumLength / 4)
        let clock = ContinuousClock()
        let time = clock.measure {
            for _ in 1...4 {
                _ = PreferencesText.faults(in: "keychain = /" + line)
                _ = PreferencesText.faults(in: line + "= /")
                _ = AccessRules.faults(in: "allow /" + line)
                _ = DisabledDrivers.faults(in: line)
            }
        }
        #expect(time < .seconds(10))
        let fault = PreferencesText.faults(in: line + "= /").first
        #expect((fault?.reason.rendered().utf8.count ?? 0) < 500)
    }

    @Test func aNameOfADriverHasALineAndCommentsStay() throws {
        var drivers = try DisabledDrivers(parsing: "# cards\n piv # none\n\nother\r\nlast", of: "FILE")
        #expect(drivers.names == ["piv", "other", "last"])
        #expect(drivers.namedLines.map(\.line) == [2, 4, 5])
        drivers.remove("piv")
        drivers.insert("new")
        drivers.insert("new")
        #expect(drivers.text == "# cards\n\nother\r\nlast\nnew\n")
    }

    @Test(arguments: [
        "", "\n", "# only a comment\n", "# \u{0C}\u{0}\n", "keychain = /a\n",
        " keychain=/a\n\n#x\nlogin-keychain = ~/l\n",
    ])
    func whatIsReadIsWrittenAsItWas(content: String) throws {
        #expect(try parse(content).text == content)
    }

    @Test func aChangeLeavesEveryOtherLineAlone() throws {
        var text = try parse("# top\nkeychain = /a\n# middle\nkeychain = /b\nlogin-keychain = /l\n# end\n")
        try text.set(.keychain, to: ["/c", "/d", "/e"])
        #expect(
            text.text == "# top\nkeychain = /c\nkeychain = /d\nkeychain = /e\n# middle\nlogin-keychain = /l\n# end\n")
        try text.set(.loginKeychain, to: nil)
        try text.set(.defaultKeychain, to: ["/x y"])
        try text.set(.keychain, to: [])
        #expect(text.text == "# top\nkeychain =\n# middle\n# end\ndefault-keychain = /x y\n")
        #expect(try parse(text.text)[.keychain] == [])
    }

    @Test(arguments: ["relative", "/a\nkeychain = /b", "/tab\t", "/space ", "/nul\0", "", "~/a"])
    func aPathThatALineCannotHoldIsRefused(path: String) throws {
        var text = PreferencesText()
        #expect(throws: KeychainError(.param)) { try text.set(.keychain, to: [path]) }
    }

    @Test func aNewFileExplainsItselfAndSetsNothing() throws {
        let text = PreferencesText()
        for setting in PreferencesText.Setting.allCases {
            #expect(text[setting] == nil)
            #expect(text.text.contains(setting.rawValue))
        }
        #expect(try parse(text.text).text == text.text)
    }

    /// Parsing of any text ends, and a text that is accepted is written as it was read.
    @Test func anyTextIsReadOrRefused() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "keychain", "login-keychain", "=", " ", "\n", "/a", "~/b", "#", "\r", "\t", "é", "\u{0}", "keychain = /x\n",
            "\"", "\\", "fixed", "preset", "pin-timeout", "900",
        ]
        for _ in 0..<2000 {
            let content = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            for text in [try? parse(content).text, try? DisabledDrivers(parsing: content, of: "FILE").text] {
                guard let text else { continue }
                #expect(text == content || text == content + "\n")
            }
            _ = AccessRules.faults(in: content)
        }
    }
}
