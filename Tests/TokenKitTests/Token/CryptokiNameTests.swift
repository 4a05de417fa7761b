import CryptokiNames
import Testing

@testable import TokenKit

@Suite struct CryptokiNameTests {
    private static let card = TokenID(driver: "piv", instance: "00010203-0405-0607-0809-0a0b0c0d0e0f")

    @Test func `A card is told by its number, else by the end of its GUID`() {
        let numbered = CryptokiTokenName(TokenIdentity(id: Self.card, label: "Card", serialNumber: "47"))
        #expect(numbered == CryptokiTokenName(label: "Card", manufacturer: "", model: "card", serialNumber: "47"))
        let other = CryptokiTokenName(TokenIdentity(id: Self.card, label: "Card", serialNumber: "12345678901234567"))
        #expect(other.serialNumber == "08090a0b0c0d0e0f")
    }

    @Test(arguments: [("", ""), ("abcd", "abcd"), ("abcde", "abcd"), ("abcé", "abc"), ("é\u{1F511}", "é")])
    func `Text is cut between characters`(_ text: String, _ cut: String) {
        #expect(CryptokiText.cut(text, to: 4) == cut)
    }
}
