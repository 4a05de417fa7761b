import Testing

/// Transcripts judge tests, so that their parser is tested here.
@Suite struct TranscriptTests {
    @Test func `Commands carry what is expected of them`() throws {
        let transcript = try Transcript(
            """
            # for people
            @card generic --key 9A=p256
            @secret 123456

            $ true
            one

            two
            2> three

            !44 false
            ! false
            """)
        #expect(transcript.stage == [["card", "generic", "--key", "9A=p256"]])
        #expect(transcript.secrets == ["123456"])
        #expect(
            transcript.steps == [
                .init(line: 5, command: "true", output: ["one", "", "two"], errors: ["three"]),
                .init(line: 11, command: "false", status: 44),
                .init(line: 12, command: "false", status: 1),
            ])
    }

    @Test(arguments: [("stray", 1), ("$ true\n!x false", 2), ("\n!", 2)])
    func `A line that is nothing is an error`(_ text: String, _ line: Int) {
        #expect(throws: Transcript.Malformed(line: line)) { try Transcript(text) }
    }

    @Test(arguments: [
        ("abc", "abc", true), ("abc", "abcd", false), ("a…", "abc", true), ("a…c", "abcc", true), ("…", "", true),
        ("a…c", "acb", false), ("…b…", "abc", true), ("…b…b", "abab", true), ("", "a", false),
    ])
    func `A gap takes any text within its line`(_ pattern: String, _ text: String, _ isMatch: Bool) {
        #expect(Pattern.line(pattern, text) == isMatch)
    }

    @Test(arguments: [
        (["…"], [], true), (["a", "…"], ["a", "b", "c"], true), (["…", "c"], ["a", "b", "c"], true),
        (["a"], ["a", "b"], false), (["a", "…", "d"], ["a", "b"], false), ([], [], true), ([], ["a"], false),
        (["a…", "…", "z"], ["ab", "z", "y", "z"], true),
    ])
    func `A gap on a line of its own takes any lines`(_ pattern: [String], _ lines: [String], _ isMatch: Bool) {
        #expect(Pattern.matches(pattern, lines) == isMatch)
    }
}
