import Testing

@testable import KeychainHost
@testable import KeychainModel

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
    ])
    func whatIsNoSettingIsRefusedByItsLine(content: String, reason: String) throws {
        let error = try #require(throws: KeychainError.self) { try parse(content) }
        #expect(error.code == .decode)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test(arguments: ["", "\n", "# only a comment\n", "keychain = /a\n", " keychain=/a\n\n#x\nlogin-keychain = ~/l\n"])
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
        ]
        for _ in 0..<2000 {
            let content = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            guard let text = try? parse(content) else { continue }
            #expect(text.text == content || text.text == content + "\n")
        }
    }
}
