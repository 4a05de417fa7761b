import Foundation
import TestSupport
import Testing

/// `Documentation/rules.md` and `consumers.md` name a test for each rule and each wish, and all these tests exist.
@Suite struct RuleIndexTests {
    /// The functions of each suite.
    private let functions: [String: Set<String>]
    private let named: [String]

    init() throws {
        let tests = Program.packageRoot.appending(path: "Tests")
        var functions: [String: Set<String>] = [:]
        let paths = FileManager.default.enumerator(atPath: tests.path)?.compactMap { $0 as? String } ?? []
        for path in paths where path.hasSuffix(".swift") {
            var suite = ""
            for line in try Repository.text("Tests/\(path)").split(separator: "\n") {
                if let name = Self.word(after: "struct ", in: line), line.contains("@Suite") { suite = name }
                if line.hasPrefix("extension ") { suite = Self.word(after: "extension ", in: line) ?? "" }
                if let name = Self.word(after: "func ", in: line) { functions[suite, default: []].insert(name) }
            }
        }
        self.functions = functions
        let pages = try ["rules", "consumers"].map { try Repository.text("Documentation/\($0).md") }
        let rows = pages.joined(separator: "\n").split(separator: "\n")
            .filter { $0.hasPrefix("| ") && $0.dropFirst(2).first?.isNumber == true }
        named = rows.compactMap { $0.split(separator: "|").last }
            .flatMap { $0.split(separator: "`").map(String.init) }
            .filter { !$0.allSatisfy(\.isWhitespace) }
    }

    private static func word(after mark: String, in line: Substring) -> String? {
        guard let start = line.range(of: mark)?.upperBound else { return nil }
        return String(line[start...].prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    private var tests: [String] { named.filter { $0.allSatisfy { $0.isLetter || $0.isNumber || "._".contains($0) } } }

    @Test func everyTestThatThePagesNameExists() {
        #expect(tests.count > 200)
        let cases = Set(BehaviourCase.all.map { "\($0.number)" })
        for test in tests where !cases.contains(test) {
            let parts = test.split(separator: ".").map(String.init)
            let declared = functions[parts[0]]
            #expect(declared != nil, "\(test)")
            if parts.count > 1 { #expect(declared?.contains(parts[1]) == true, "\(test)") }
        }
    }

    @Test func everyCaseAndEveryTestOfARuleIsOnThePage() {
        let rules = functions.flatMap { suite, names in names.map { "\(suite).\($0)" } }.filter { $0.contains(".rule") }
        #expect(rules.count > 30)
        let listed = Set(tests)
        for test in rules + BehaviourCase.all.map({ "\($0.number)" }) { #expect(listed.contains(test), "\(test)") }
    }
}
