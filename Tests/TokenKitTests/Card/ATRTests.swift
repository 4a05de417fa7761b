import SecureBytes
import TestSupport
import Testing
import TokenKit

@Suite struct ATRTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let atr: String
        let historical: String
        let extended: Bool
        var testDescription: String { name }
    }

    @Test(arguments: [
        Case(
            name: "YubiKey 5", atr: "3BFD1300008131FE158073C021C057597562694B657940",
            historical: "8073C021C057597562694B6579", extended: true),
        Case(
            name: "YubiKey NEO", atr: "3BFC1300008131FE15597562696B65794E454F7233E1",
            historical: "597562696B65794E454F7233", extended: false),
        Case(
            name: "YubiKey 4", atr: "3BF81300008131FE15597562696B657934D4", historical: "597562696B657934",
            extended: false),
        Case(
            name: "JCOP 3", atr: "3BD518FF8191FE1FC38073C821100A", historical: "8073C82110", extended: false),
        Case(
            name: "JCOP 2.4.1", atr: "3BF81300008131FE454A434F5076323431B7", historical: "4A434F5076323431",
            extended: false),
        Case(name: "historical bytes of category 80 and no more", atr: "3B80800101", historical: "", extended: false),
        Case(name: "no interface bytes", atr: "3B021450", historical: "1450", extended: false),
        Case(
            name: "capabilities before a status indicator", atr: "3B08 00 73C021C0 029000",
            historical: "0073C021C0029000",
            extended: true),
        Case(
            name: "a status indicator that looks like capabilities", atr: "3B04 00 73FFFF", historical: "0073FFFF",
            extended: false),
        Case(
            name: "capabilities after another object", atr: "3B09 80 3180 41AA 73000040",
            historical: "80318041AA73000040", extended: true),
    ])
    func historicalBytesAndCapabilities(_ card: Case) {
        let atr = ATR([UInt8](hex: card.atr))
        #expect(Hex.encode(atr.historicalBytes) == card.historical)
        #expect(atr.announcesExtendedLength == card.extended)
        #expect(atr.description == card.atr.replacing(" ", with: ""))
    }

    @Test(arguments: [
        "", "3B", "3B80", "3B8080", "3BFD", "3B0F", "3B0F8073C0", "3BFFFFFFFFFF", "3B8080808080", "3B03807373",
        "3B0180", "3B028073", "3B04807300", "3B0580 74C021C0", "3BFF1300008131FE15", "3B01 73",
    ])
    func aMalformedOneAnnouncesNothing(hex: String) {
        let atr = ATR([UInt8](hex: hex))
        #expect(!atr.announcesExtendedLength)
        #expect(atr.historicalBytes.count <= 15)
    }

    @Test func anyBytesAtAllCanBeAsked() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...40, using: &generator)
            let atr = ATR((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
            #expect(atr.historicalBytes.count <= 15)
            if atr.announcesExtendedLength { #expect(atr.historicalBytes.count >= 5) }
        }
    }
}
