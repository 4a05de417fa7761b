import SecureBytes
import Testing

@Suite struct HexTests {
    @Test func everyByteHasTwoUpperCaseDigits() {
        for byte in UInt8.min...UInt8.max {
            let text = Hex.encode([byte])
            #expect(text.count == 2)
            #expect(text == text.uppercased())
            #expect(Hex.decode(text) == [byte])
            #expect(Hex.decode(text.lowercased()) == [byte])
        }
    }

    @Test func nothingIsTheEmptyText() {
        #expect(Hex.encode([]) == "")
        #expect(Hex.decode("") == [])
    }

    @Test(arguments: ["00 A4 04 00", "00:a4:04:00", "00A4\n0400\t", " 00A40400 "])
    func separatorsStandBetweenBytes(text: String) {
        #expect(Hex.decode(text) == [0x00, 0xA4, 0x04, 0x00])
    }

    @Test(arguments: ["0", "00A", "0 0", "0:0", "0G", "0x00", "é0", "00-11", "００", "/0", "@0", "`0", "g0"])
    func anythingElseIsRefused(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test func aSliceOfTextAndOfBytesWillDo() {
        #expect(Hex.decode("xx9000".dropFirst(2)) == [0x90, 0x00])
        #expect(Hex.encode([1, 2, 3].dropFirst() as ArraySlice<UInt8>) == "0203")
    }
}
