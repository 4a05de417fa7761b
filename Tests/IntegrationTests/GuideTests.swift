import Foundation
import TestSupport
import Testing

/// The guides in Documentation, whose commands are run word for word in a shell at a terminal.
@Suite struct GuideTests {
    private static let folder = Program.packageRoot.appending(path: "Documentation/guides").path()
    private static let script = Program.packageRoot.appending(path: "Scripts/guide").path()
    private static let products = URL(filePath: Program.command).deletingLastPathComponent().path()
    static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    /// Tables, which a test of their own reads.
    private static let withoutCommands: Set = ["macos.md"]

    @Test(arguments: names.filter { !withoutCommands.contains($0) })
    func theScreenShowsWhatTheGuideSays(name: String) throws {
        let result = try Program.run(
            [Self.script, Self.products, "\(Self.folder)/\(name)"],
            timeout: 600)
        #expect(result.status == 0, "\(result)")
    }

    @Test func aGuideThatSaysOtherwiseIsFound() throws {
        let folder = try TemporaryFolder()
        for (commands, complaint) in [
            ("$ echo one\ntwo", "prints otherwise"), ("$ false", "ended with 1"), ("$ echo one\n…", nil),
            ("$ read -p 'name: ' n; echo $n", "nobody asked"), ("$ echo a b c\na … c", nil), ("", "it has no command"),
        ] {
            let types = complaint == "nobody asked" ? "<!-- types one two -->\n" : ""
            let path = try folder.write("guide.md", "\(types)```console\n\(commands)\n```\n")
            let result = try Program.run(
                [Self.script, Self.products, path], timeout: 600)
            #expect((result.status == 0) == (complaint == nil), "\(commands): \(result)")
            if let complaint { #expect(result.description.contains(complaint), "\(result)") }
        }
    }
}
