import Testing

@testable import TokenKit

@Suite struct CryptokiNameTests {
    private static let card = TokenID(driver: "piv", instance: "00010203-0405-0607-0809-0a0b0c0d0e0f")
    private static let foreign = TokenID(driver: "pkcs11", instance: "softhsm")

    @Test func `A card is told by its number, else by the end of its GUID`() {
        let numbered = CryptokiTokenName(TokenIdentity(id: Self.card, label: "Card", serialNumber: "47"))
        #expect(numbered == CryptokiTokenName(label: "Card", manufacturer: "", model: "PIV card", serialNumber: "47"))
        let other = CryptokiTokenName(TokenIdentity(id: Self.card, label: "Card", serialNumber: "12345678901234567"))
        #expect(other.serialNumber == "08090a0b0c0d0e0f")
    }

    @Test(arguments: [("", ""), ("abcd", "abcd"), ("abcde", "abcd"), ("abcé", "abc"), ("é\u{1F511}", "é")])
    func `Text is cut between characters`(_ text: String, _ cut: String) {
        #expect(CryptokiText.cut(text, to: 4) == cut)
    }

    @Test(arguments: [("9A", 1), ("9C", 2), ("9D", 3), ("9E", 4), ("82", 5), ("95", 24)])
    func `The slots of PIV are numbered as everywhere`(_ object: String, _ id: UInt8) {
        #expect(CryptokiID.bytes(of: TokenObjectID(object), on: Self.card) == [id])
        #expect(CryptokiID.cardObject(withID: [id]) == TokenObjectID(object))
    }

    @Test func `What no program is shown has no id`() {
        #expect(CryptokiID.bytes(of: TokenObjectID("F9"), on: Self.card) == nil)
        for id: [UInt8] in [[], [0], [25], [255], [1, 1]] {
            #expect(CryptokiID.cardObject(withID: id) == nil)
        }
    }

    @Test func `The ids of other modules are in the names of their objects`() {
        #expect(CryptokiID.bytes(of: TokenObjectID("01ff"), on: Self.foreign) == [1, 0xFF])
        #expect(CryptokiID.bytes(of: TokenObjectID("01ff/2"), on: Self.foreign) == [1, 0xFF])
        #expect(CryptokiID.bytes(of: TokenObjectID("/1"), on: Self.foreign) == [])
    }
}
