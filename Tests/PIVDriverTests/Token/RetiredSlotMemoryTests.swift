import Testing
import TokenKit

@testable import PIVDriver

@Suite struct RetiredSlotMemoryTests {
    private let primary = [UInt8](repeating: 0xAB, count: 32)

    @Test(arguments: [[], [.retired1], [.retired3, .retired20], PIVSlot.retired] as [[PIVSlot]])
    func whatIsRememberedIsRecalled(slots: [PIVSlot]) {
        let bytes = RetiredSlotMemory.encode(slots, besides: primary)
        #expect(RetiredSlotMemory.slots(in: bytes, besides: primary) == slots)
    }

    /// The memory is a file that another program may have written.
    @Test(arguments: [[0x9A], [0x00], [0x82, 0xFF], [0x82, 0x83, 0xF9]] as [[UInt8]])
    func slotsThatAreNotRetiredOnesAreForgotten(slots: [UInt8]) {
        let bytes = RetiredSlotMemory.encode([], besides: primary) + slots
        #expect(RetiredSlotMemory.slots(in: bytes, besides: primary) == nil)
    }

    @Test func anythingElseIsForgotten() {
        let bytes = RetiredSlotMemory.encode([.retired1], besides: primary)
        for count in 0..<1 + primary.count {
            #expect(RetiredSlotMemory.slots(in: Array(bytes.prefix(count)), besides: primary) == nil, "\(count) bytes")
        }
        #expect(RetiredSlotMemory.slots(in: [1] + bytes.dropFirst(), besides: primary) == nil)
        #expect(RetiredSlotMemory.slots(in: bytes, besides: primary.map { $0 ^ 1 }) == nil)
    }

    @Test func aNewKeyInAPrimarySlotMakesItOutOfDate() {
        func object(_ key: UInt8) -> TokenObject {
            TokenObject(id: TokenObjectID("9D"), label: "Key Management", certificate: [key])
        }
        let before = RetiredSlotMemory.fingerprint([nil, nil, object(1), nil])
        #expect(before.count == 32)
        #expect(RetiredSlotMemory.fingerprint([nil, nil, object(1), nil]) == before)
        #expect(RetiredSlotMemory.fingerprint([nil, nil, object(2), nil]) != before)
        #expect(RetiredSlotMemory.fingerprint([nil, object(1), nil, nil]) != before)
        #expect(RetiredSlotMemory.fingerprint([nil, nil, nil, nil]) != before)
    }
}
