import Foundation
import TestSupport
import Testing

/// Documentation/rules.md lists the names of Apple's headers that are not here, and none of them is.
@Suite struct AbsentNameTests {
    /// The names that the modules declare, for whichever clients.
    private let declared: Set<String>
    /// The first column of the table; a name that ends with an ellipsis stands for all that begin so.
    private let listed: [String]

    init() throws {
        var declared: Set<String> = []
        for target in ["SecItem", "Security", "LocalAuthentication", "CryptoTokenKit"] {
            let folder = Program.packageRoot.appending(path: "Sources/\(target)").path
            let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
            for file in files where file.hasSuffix(".swift") {
                let text = try Repository.text("Sources/\(target)/\(file)")
                for match in text.matches(of: /\b(?:func|let|var|class|struct|enum|typealias|protocol) +(\w+)/) {
                    declared.insert(String(match.1))
                }
            }
        }
        self.declared = declared
        let page = try Repository.text("Documentation/rules.md")
        let section = try #require(page.components(separatedBy: "### Names of Apple's headers\n").last)
        listed = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|").first?.matches(of: /`([^`]+)`/).map { String($0.1) } ?? []
        }
    }

    @Test func noNameThatIsListedAsAbsentExists() {
        #expect(declared.contains("SecItemAdd") && listed.count > 150)
        for name in listed {
            if name.hasSuffix("…") {
                #expect(declared.filter { $0.hasPrefix(name.dropLast()) } == [], "\(name)")
            } else {
                #expect(!declared.contains(name), "\(name)")
            }
        }
        #expect(Set(listed).count == listed.count, "each name is listed once")
    }
}
