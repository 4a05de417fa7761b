import Foundation
import Testing

/// The number of files that an addition to the module changes: Documentation/architecture.md, "Where to add what".
@Suite struct AddingCostTests {
    /// The words of each source file of the module and its host.
    private let words: [String: Set<Substring>]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        var words: [String: Set<Substring>] = [:]
        for target in ["PKCS11Bridge", "PKCS11Mechanisms", "PKCS11Module", "Wire", "HostServer", "KeychainHost"] {
            let files = FileManager.default.enumerator(
                at: root.appending(path: target), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift" else { continue }
                let text = try String(contentsOf: file, encoding: .utf8)
                words[file.lastPathComponent] = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") })
            }
        }
        self.words = words
    }

    private func files(with word: Substring) -> Set<String> { Set(words.filter { $0.value.contains(word) }.keys) }

    @Test(arguments: [
        "CKA_CERTIFICATE_CATEGORY", "CKA_CHECK_VALUE", "CKA_SERIAL_NUMBER", "CKA_START_DATE", "CKA_UNIQUE_ID",
        "CKA_KEY_GEN_MECHANISM", "CKA_SIGN_RECOVER", "CKA_VERIFY_RECOVER", "CKA_URL",
    ])
    func anAttributeThatObjectsTellIsInTheTableAndTheRules(name: String) {
        #expect(files(with: Substring(name)) == ["CryptokiObject.swift", "TemplateRules.swift"])
    }

    @Test func aMechanismIsARowAndAtMostOnePlaceForItsParameter() throws {
        let table = try #require(words["MechanismTable.swift"]).filter { $0.hasPrefix("CKM_") }
        #expect(table.count > 40)
        for mechanism in table { #expect(files(with: mechanism).count <= 2, "\(mechanism)") }
    }
}
