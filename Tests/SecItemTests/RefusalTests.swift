import Foundation
import SecItem
import Testing

/// Refused calls, and the log in which a program's author reads the reason.
@Suite struct RefusalTests {
    @Test func aRefusalOfSecItemIsInTheLogWithItsKey() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let log = home.path("log")
            setenv("TOKENKIT_DEBUG", log, 1)
            let item: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "mail", kSecValueData: Data("s3cret".utf8),
            ]
            #expect(add(item) == errSecSuccess)
            #expect(!FileManager.default.fileExists(atPath: log))
            #expect(add(item) == errSecDuplicateItem)
            #expect(
                SecItemDelete([kSecClass: kSecClassGenericPassword, "f\u{1B}oo": "bar"] as CFDictionary) == errSecParam)
            #expect(SecKeyCreateRandomKey([kSecAttrKeyType: kSecAttrKeyTypeRSA] as CFDictionary, nil) == nil)
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let lines = text.split(separator: "\n")
            #expect(lines.count == 3, "\(text)")
            #expect(lines[0].contains(" SecItemAdd: ") && lines[0].contains("[errSecDuplicateItem -25299]"))
            #expect(lines[1].contains(" SecItemDelete: ") && lines[1].hasSuffix("[errSecParam -50], key f\u{FFFD}oo"))
            #expect(lines[2].contains(" SecKeyCreateRandomKey: ") && lines[2].hasSuffix(", key bsiz"))
            #expect(lines.allSatisfy { $0.hasPrefix("tokenkit[\(getpid())] ") } && !text.contains("s3cret"))
            let attributes = try FileManager.default.attributesOfItem(atPath: log)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func aPipeThatNobodyReadsHoldsNoCall() async {
        await #expect(processExitsWith: .success) {
            let home = try Home()
            defer { home.end() }
            let log = home.path("pipe")
            try #require(mkfifo(log, 0o600) == 0)
            setenv("TOKENKIT_DEBUG", log, 1)
            #expect(SecItemDelete(["foo": "bar"] as CFDictionary) == errSecParam)
        }
    }
}
