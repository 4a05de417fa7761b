import Foundation
import Testing

/// Terminal sessions with the built command. Each is a file in Scripts.
@Suite struct ScriptTests {
    static let names = try? FileManager.default.contentsOfDirectory(atPath: Stage.scripts)
        .filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()

    @Test func `There are sessions`() throws {
        #expect(try #require(ScriptTests.names).isEmpty == false)
    }

    @Test(arguments: names ?? [])
    func `A session goes as written`(_ script: String) throws {
        let complaint = try Performance(script: script).play()
        #expect(complaint == nil)
    }
}
