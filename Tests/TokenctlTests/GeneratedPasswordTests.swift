import SecureBytes
import Testing

@testable import tokenctl

@Suite struct GeneratedPasswordTests {
    @Test func hasThreeGroupsOfSixWithEachKindOfCharacter() throws {
        for _ in 0..<500 {
            let text = try Self.password()
            #expect(text.wholeMatch(of: /[a-zA-Z2-9]{6}-[a-zA-Z2-9]{6}-[a-zA-Z2-9]{6}/) != nil, "\(text)")
            #expect(text.contains(/[a-z]/) && text.contains(/[A-Z]/) && text.contains(/[2-9]/), "\(text)")
            #expect(!text.contains(/[lIO]/), "\(text)")
        }
    }

    /// Each character is as likely as any other, so far as 36,000 of them show: 632 are expected, 25 more or less.
    @Test func favoursNoCharacter() throws {
        let text = try (0..<2000).map { _ in try Self.password() }.joined().replacing("-", with: "")
        let counts = Dictionary(grouping: text) { $0 }.mapValues(\.count)
        #expect(counts.count == 57)
        // Digits are a little likelier, since no password is without one.
        let unlikely = counts.filter { !$0.key.isNumber && !(450...800).contains($0.value) }
        #expect(unlikely.isEmpty)
    }

    private static func password() throws -> String {
        let password = try GeneratedPassword.make()
        return String(decoding: Array(copying: password.bytes), as: UTF8.self)
    }
}
