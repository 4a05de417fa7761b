import ArgumentParser
import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import tokenctl

/// Text that is read and written in the forms of macOS's `security`.
@Suite struct TextTests {
    @Test(arguments: [
        ("", ""), ("abc", #""abc""#), ("a\"b", #""a"b""#), ("a\\b", #"0x615C62  "a\134b""#), ("é", "0xC3A9 "),
        ("hé", #"0x68C3A9  "h\303\251""#), ("\0", "0x00 "), (" ", #"" ""#), ("\n", "0x0A "),
        ("~\u{7F}", #"0x7E7F  "~\177""#),
    ])
    func `Bytes come in quotation marks, and in digits where not all are text`(_ text: String, _ expected: String) {
        #expect(QuotedText.string(Array(text.utf8)) == expected)
    }

    @Test func `A secret looks like any other bytes, and fits the room that was made for it`() {
        for bytes in [[], [0x41], [0x5C], [0x00], Array(0...255)] as [[UInt8]] {
            let quoted = SecretText.quoted(Secret(copying: bytes.span))
            #expect(text(quoted) == QuotedText.string(bytes))
            #expect(quoted.count <= QuotedText.room(for: bytes.count))
        }
    }

    @Test(arguments: [
        ("", ""), ("abc~ ", "abc~ "), ("a\\b", "a\\b"), ("a\nb", "610a62"), ("é", "c3a9"), ("\u{7F}", "7f"),
    ])
    func `A password alone is as it is, or digits`(_ password: String, _ expected: String) {
        #expect(text(SecretText.plain(Secret(copying: Array(password.utf8).span))) == expected)
    }

    @Test(arguments: [
        ("", ""), ("abc", "abc"), ("a\"b\\c", #"a\"b\\c"#), ("\n\u{1B}", #"\u000a\u001b"#), ("é\u{7F}🔑", #"é\u007f🔑"#),
        ("\u{202E}\u{200B}\u{E0041}", #"\u202e\u200b\udb40\udc41"#),
    ])
    func `A string of JSON says the same as the text in it`(_ password: String, _ expected: String) throws {
        #expect(escaped(Array(password.utf8)) == expected)
        #expect(try JSONDecoder().decode([String].self, from: Data("[\"\(expected)\"]".utf8)) == [password])
    }

    @Test(arguments: [[0xFF], [0x41, 0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
    func `What is no UTF-8 is no string of JSON`(_ bytes: [UInt8]) {
        #expect(escaped(bytes) == nil)
    }

    @Test(arguments: 4...120)
    func `A table fits, and what is above a column is cut last`(_ room: Int) {
        let (widths, headings) = ([40, 17, 8, 30], [8, 17, 4, 3])
        let fitting = TextWidth.fitting(widths, into: room, headings: headings)
        #expect(fitting.reduce(0, +) == min(room, widths.reduce(0, +)))
        if room >= 49 { #expect(fitting[1] == 17) }
    }

    @Test(arguments: 4...120)
    func `A date is cut last`(_ room: Int) {
        let widths = [40, 20, 8, 30]
        let fitting = TextWidth.fitting(widths, into: room, headings: [8, 7, 4, 3], whole: [1])
        #expect(fitting.reduce(0, +) == min(room, widths.reduce(0, +)))
        if room >= 23 { #expect(fitting[1] == 20) }
    }

    @Test(arguments: 2...80)
    func `A text in several lines is all there, and none is too wide`(_ width: Int) {
        let text = "blocked (and so is the PUK; reset the card) A000000116FF02898CDF06571E390310E9AD879B37"
        let lines = TextWidth.wrapped(text, to: width)
        #expect(lines.allSatisfy { TextWidth.columns(of: $0) <= width && !$0.isEmpty })
        #expect(lines.joined().filter { $0 != " " } == text.filter { $0 != " " })
    }

    @Test(
        arguments: [
            ("", []), ("  ", []), ("a b", ["a", "b"]), (" a\tb ", ["a", "b"]), ("'a b' c", ["a b", "c"]),
            ("\"a 'b\"", ["a 'b"]), ("a\\ b", ["a b"]), ("''", [""]), ("a''b", ["ab"]), ("'\\'", ["\\"]),
            ("\"\\\"\"", ["\""]), ("a\"", nil), ("'", nil), ("a\\", nil),
        ] as [(String, [String]?)])
    func `A line is words as in a shell`(_ line: String, _ words: [String]?) {
        #expect(CommandWords.split(line) == words)
    }

    @Test(arguments: [
        ("www.example.com", "www.example.com", true), ("WWW.example.com", "www.EXAMPLE.com", true),
        ("www.example.com", "*.example.com", true), ("example.com", "*.example.com", false),
        ("a.b.example.com", "*.example.com", false), ("example.com", "*.com", false), ("com", "*", false),
        ("www.example.com", "w*.example.com", false), ("", "", false), ("a..b", "a..b", false),
    ])
    func `A star in a certificate stands for one label`(_ host: String, _ pattern: String, _ isMatch: Bool) {
        #expect(HostName.matches(host, pattern) == isMatch)
    }

    @Test(arguments: [
        ("example.com", true), ("EXAMPLE.com", true), ("a-b.example.com", true), ("*.example.com", true),
        ("host", true),
        ("xn--bcher-kva.example", true), ("3com.com", true), ("", false), (".", false), ("a..b", false), (".a", false),
        ("a.", false), ("*", false), ("*.com", false), ("a.*.com", false), ("w*.example.com", false), ("-a.com", false),
        ("a-.com", false), ("a_b.com", false), ("a b.com", false), ("bücher.example", false), ("a\n.com", false),
        ("https://a.com", false), ("a.com:443", false), ("192.0.2.1", false), ("٣.٣", false), ("::1", false),
        (String(repeating: "a", count: 63) + ".com", true), (String(repeating: "a", count: 64) + ".com", false),
        (String(repeating: "a.", count: 126) + "a", true), (String(repeating: "a.", count: 127) + "a", false),
    ])
    func `A host in a request has a name of RFC 1123, or a star for its first label`(_ name: String, _ isName: Bool) {
        #expect(HostName.isPattern(name) == isName)
    }

    @Test(arguments: [
        ("jo@example.com", true), ("jo+x@example.com", true), ("\"a@b\"@example.com", true), ("jo@host", true),
        ("", false), ("jo", false), ("@example.com", false), ("jo@", false), ("jo@*.example.com", false),
        ("jo doe@example.com", false), ("jö@example.com", false), ("jo@example..com", false),
    ])
    func `An e-mail address in a request has two parts of ASCII`(_ address: String, _ isAddress: Bool) {
        #expect(HostName.isAddress(address) == isAddress)
    }

    @Test(
        arguments: [
            ("1970-01-01", 0), ("2026-10-21", 1_792_540_800), ("2026-10-21-09:54:24", 1_792_576_464),
            ("2026-10-21T09:54:24Z", 1_792_576_464), ("2024-02-29", 1_709_164_800), ("2023-02-29", nil),
            ("2026-13-01", nil),
            ("2026-10-21-25:00", nil), ("yesterday", nil), ("", nil),
        ] as [(String, Int64?)])
    func `A date is a day that there is`(_ text: String, _ seconds: Int64?) {
        #expect(DateArgument(argument: text)?.seconds == seconds)
    }

    @Test(
        arguments: [
            ("http", "http", 0x6874_7470), ("ssh", "ssh ", 0x7373_6820), ("", nil, 0), ("https", nil, 0), ("é", nil, 0),
        ] as [(String, String?, Int64)])
    func `A code has four characters`(_ argument: String, _ text: String?, _ number: Int64) {
        let code = CharacterCode(argument: argument)
        #expect(code?.text == text)
        #expect(code == nil || code?.number == number)
    }

    @Test func `A bare -w is asked for, and the older -p with it`() throws {
        let ask = ArgumentForms.ask
        let expansions: [([String], [String])] = [
            (["add-generic-password", "-w"], ["add-generic-password", "-w", ask]),
            (["add-internet-password", "-w", "-U"], ["add-internet-password", "-w", ask, "-U"]),
            (["add-internet-password", "-w", "--no-prompt"], ["add-internet-password", "-w", ask, "--no-prompt"]),
            (["add-generic-password", "-w", "secret"], ["add-generic-password", "-w", "secret"]),
            (["add-generic-password", "-w", "-secret"], ["add-generic-password", "-w", "-secret"]),
            (["add-generic-password", "-w", "-1"], ["add-generic-password", "-w", "-1"]),
            (["add-generic-password", "-w", ""], ["add-generic-password", "-w", ""]),
            (["add-generic-password", "-p"], ["add-generic-password", "-p", ask]),
            (["add-generic-password", "-p", "secret"], ["add-generic-password", "-p", "secret"]),
            (["add-generic-password", "-Uw"], ["add-generic-password", "-Uw", ask]),
            (["add-generic-password", "-UAw", "-a", "x"], ["add-generic-password", "-UAw", ask, "-a", "x"]),
            (["add-generic-password", "-wsecret", "-U"], ["add-generic-password", "-wsecret", "-U"]),
            (["add-internet-password", "-p", "/path"], ["add-internet-password", "-p", "/path"]),
            (["add-internet-password", "-w", "-p", "/path"], ["add-internet-password", "-w", ask, "-p", "/path"]),
            (["find-generic-password", "-w"], ["find-generic-password", "-w"]), ([], []),
        ]
        for (arguments, expanded) in expansions { #expect(try ArgumentForms.expanded(arguments) == expanded) }
    }

    @Test func `All that follows a letter in its word is its value, an equals sign at its beginning too`() throws {
        let expansions: [([String], [String])] = [
            (["add-generic-password", "-w=x"], ["add-generic-password", "-w", "=x"]),
            (["add-generic-password", "-w==x", "-U"], ["add-generic-password", "-w", "==x", "-U"]),
            (["add-generic-password", "-Uw=", "-a=é"], ["add-generic-password", "-Uw", "=", "-a", "=é"]),
            (["add-generic-password", "-w=a\nb"], ["add-generic-password", "-w", "=a\nb"]),
            (["find-generic-password", "-s=x", "-w"], ["find-generic-password", "-s", "=x", "-w"]),
            (["create-keychain", "-p=abc", "work"], ["create-keychain", "-p", "=abc", "work"]),
            (["set-keychain-password", "-o=a", "-p=b"], ["set-keychain-password", "-o", "=a", "-p", "=b"]),
            (["import", "-P=x", "file"], ["import", "-P", "=x", "file"]),
            (["card", "pin", "verify", "-r=x"], ["card", "pin", "verify", "-r=x"]),
        ]
        for (arguments, expanded) in expansions { #expect(try ArgumentForms.expanded(arguments) == expanded) }
    }

    @Test(arguments: [
        ["find-generic-password", "-s", "-a=x"], ["find-generic-password", "--", "-a=x"], ["nonsense", "-a=x"],
        ["find-generic-password", "--account=x"], ["find-generic-password", "-a", "x=y"], ["-a=x"],
        ["find-generic-password", "-ax=y"], ["find-generic-password", "-?=x"], ["find-generic-password", "-g=x"],
    ])
    func `What is no letter with a value of that kind is left as it is`(_ arguments: [String]) throws {
        #expect(try ArgumentForms.expanded(arguments) == arguments)
    }

    @Test(arguments: [
        ["add-generic-password", "-a", "-p", "x"], ["add-generic-password", "-l", "-p", "FILE"],
        ["add-generic-password", "-l", "-w", "-U"], ["add-internet-password", "-s", "-w", "-P", "443"],
        ["add-generic-password", "-Ua", "-w"], ["add-generic-password", "-a-w", "-j", "-w"],
        ["add-generic-password", "--pin-source", "-w", "-U"], ["add-generic-password", "-X", "-w"],
        ["add-generic-password", "-a", "x", "--", "-w"], ["add-internet-password", "-d", "--", "-l", "-w"],
        ["import", "-P", "-a", "file", "-x"], ["import", "-xP", "-a", "file", "-x"],
        ["import", "--", "-a", "file", "x"],
    ])
    func `What is the value of an option is none itself`(_ arguments: [String]) throws {
        #expect(try ArgumentForms.expanded(arguments) == arguments)
    }

    @Test(arguments: [
        ["add-generic-password", "-w", "-p", "x"], ["add-generic-password", "-w", "x", "-w"],
        ["add-internet-password", "-w", "x", "-w", "y"],
    ])
    func `A password that is given twice is an error`(_ arguments: [String]) {
        #expect(throws: CommandError.self) { try ArgumentForms.expanded(arguments) }
    }

    @Test func `An attribute of import is a name and a value`() throws {
        let expansions: [([String], [String])] = [
            (["import", "file", "-a", "labl", "x"], ["import", "file", "-a", "labl=x"]),
            (
                ["import", "-a", "labl", "-x", "-a", "atag", "a=b", "file"],
                ["import", "-a", "labl=-x", "-a", "atag=a=b", "file"]
            ),
            (["import", "-xa", "labl", "y", "file"], ["import", "-xa", "labl=y", "file"]),
            (["import", "file", "-a", "labl"], ["import", "file", "-a", "labl"]),
            (["import", "file", "-a"], ["import", "file", "-a"]),
            (["item", "-a", "class=genp", "acct=x"], ["item", "-a", "class=genp", "acct=x"]),
        ]
        for (arguments, expanded) in expansions { #expect(try ArgumentForms.expanded(arguments) == expanded) }
    }

    @Test(arguments: [
        ("login.keychain-db", "login.keychain"), ("/a/b.keychain-db", "/a/b.keychain"), ("login", "login"),
        ("login.keychain", "login.keychain"), ("my-db", "my-db"), ("", ""),
    ])
    func `What macOS adds to a keychain's name is taken off`(_ name: String, _ normalized: String) {
        #expect(KeychainName.normalized(name) == normalized)
    }

    @Test(arguments: [
        ("piv:72f230a0", true), ("pkcs11:a", false), ("/piv:72f230a0", false), ("other:72f230a0", false),
        ("login", false), ("piv:", false), ("", false),
    ])
    func `A card is named by its driver and number`(_ name: String, _ isID: Bool) {
        #expect(NamedKeychain.isIDOfCard(name) == isID)
    }

    @Test func `The beginning of one command's name is enough`() throws {
        #expect(try CommandName.completed(["find-gen", "-w"]) == ["find-generic-password", "-w"])
        #expect(try CommandName.completed(["help", "unlock"]) == ["help", "unlock-keychain"])
        #expect(try CommandName.completed(["sign"]) == ["sign"])
        #expect(try CommandName.completed(["card", "pi", "st", "--json"]) == ["card", "pin", "status", "--json"])
        #expect(try CommandName.completed(["help", "card", "in"]) == ["help", "card", "info"])
        #expect(try CommandName.completed(["sign", "frob"]) == ["sign", "frob"])
        #expect(try CommandName.completed(["--version"]) == ["--version"])
        #expect(try CommandName.completed([]).isEmpty)
        #expect(throws: CommandError.self) { try CommandName.completed(["find-"]) }
        for name in CommandName.all { #expect(try CommandName.completed([name]) == [name]) }
    }

    @Test(arguments: [
        (["frob"], "there is no command 'frob' (see 'tokenctl --help')"),
        (["frob", "--json"], "there is no command 'frob' (see 'tokenctl --help')"),
        (["find-idnetity", "-v"], "there is no command 'find-idnetity' (did you mean 'find-identity'?)"),
        (["list-keychain-s"], "there is no command 'list-keychain-s' (did you mean 'list-keychains'?)"),
        (["csr"], "there is no command 'csr' (did you mean 'create-csr'?)"),
        (["help", "verfy"], "there is no command 'verfy' (did you mean 'verify'?)"),
        (["card", "pins", "--json"], "there is no command 'card pins' (did you mean 'card pin'?)"),
        (["card", "frob"], "there is no command 'card frob' (see 'tokenctl card --help')"),
        (["help", "card", "frob"], "there is no command 'card frob' (see 'tokenctl card --help')"),
        ([""], "there is no command '' (see 'tokenctl --help')"),
    ])
    func `A command that there is not is named before any of its options`(_ arguments: [String], _ text: String) {
        let error = #expect(throws: CommandError.self) { try CommandName.completed(arguments) }
        #expect(error?.description == text)
    }

    @Test func `A notice is told once a day`() throws {
        let folder = try TemporaryFolder()
        let notices = DailyNotices(in: folder.path("cache"))
        #expect(notices.isDue("a"))
        #expect(!notices.isDue("a"))
        #expect(notices.isDue("b"))
        let told = folder.path("cache") + "/told"
        let files = try FileManager.default.contentsOfDirectory(atPath: told)
        #expect(files.count == 2)
        for age in [24 * 60 * 60 + 1.0, -60] {
            for file in files {
                try? FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: "\(told)/\(file)")
            }
            #expect(notices.isDue("a"))
            #expect(!notices.isDue("a"))
        }
        // Files older than a day are not kept.
        #expect(notices.isDue("b"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: told).count == 2)
    }

    @Test(
        arguments: [
            (["find-key"], nil, false, false, ["find-key"]),
            (["-i"], "tokenctl> ", false, false, []),
            (["-p", "? "], "? ", false, false, []),
            (["-p?"], "?", false, false, []),
            (["-qip", "? "], "? ", true, false, []),
            (["-pi"], "i", false, false, []),
            (["-i", "-p", ""], "", false, false, []),
            (["-q", "-v", "error", "-1"], nil, true, true, ["error", "-1"]),
            (["-vq", "find-identity", "-v"], nil, true, true, ["find-identity", "-v"]),
            (["--version"], nil, false, false, ["--version"]), (["-h"], nil, false, false, ["-h"]),
            (["-qh"], nil, false, false, ["-qh"]), (["-"], nil, false, false, ["-"]),
            (["--"], nil, false, false, ["--"]),
            ([""], nil, false, false, [""]), ([], nil, false, false, []),
        ] as [([String], String?, Bool, Bool, [String])])
    func `What stands before the command is for all of them`(
        _ arguments: [String], _ prompt: String?, _ isQuiet: Bool, _ isVerbose: Bool, _ command: [String]
    ) throws {
        var rest = arguments[...]
        let options = try GlobalOptions(&rest)
        #expect(options.prompt == prompt)
        #expect(options.isQuiet == isQuiet)
        #expect(options.isVerbose == isVerbose)
        #expect(Array(rest) == command)
    }

    @Test(arguments: [["-p"], ["-ip"], ["-i", "error"], ["-p", "? ", "error"], ["-l", "error"], ["-ql"]])
    func `What makes no sense before the command is an error`(_ arguments: [String]) {
        #expect(throws: CommandError.self) {
            var rest = arguments[...]
            _ = try GlobalOptions(&rest)
        }
    }

    @Test(arguments: ["frob", "cms ", "", "find-frob"])
    func `There is no help for what is not there`(_ name: String) {
        #expect(throws: CommandError.self) { try CommandName.completed(["help", name]) }
    }

    @Test func `No command is both there and missing`() {
        #expect(Set(CommandName.all).isDisjoint(with: MissingCommand.reasons.keys))
        #expect(Set(CommandName.all).count == CommandName.all.count)
        for reason in MissingCommand.reasons.values { #expect(reason.description.hasSuffix(")")) }
    }

    private func escaped(_ bytes: [UInt8]) -> String? {
        if let secret = SecretText.escaped(Secret(copying: bytes.span)) { text(secret) } else { nil }
    }

    private func text(_ secret: borrowing Secret) -> String {
        let bytes = secret.bytes
        return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    /// zsh takes what follows a colon for a description; bash expands the words.
    @Test func `A shell is offered names in the form in which it takes them`() {
        let names = ["piv:1234", "Jürgen's key", "two words", "$(pwd)", "`pwd`", "a\nb", "~", "-k", " x", "*", "a!b"]
        let offered = ["Jürgen's key", "piv:1234", "two words"]
        #expect(Completions.offered(names, in: .zsh) == ["Jürgen's key", "piv\\:1234", "two words"])
        #expect(Completions.offered(names, in: .bash) == ["'Jürgen'\\''s key'", "'piv:1234'", "'two words'"])
        #expect(Completions.offered(names, in: .fish) == offered)
        #expect(Completions.offered(names, in: nil) == offered)
    }
}
