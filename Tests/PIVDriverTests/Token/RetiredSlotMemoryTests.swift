import Testing

@testable import PIVDriver

@Suite struct RetiredSlotMemoryTests {
    @Test(arguments: [[], [.retired1], [.retired3, .retired20], PIVSlot.retired] as [[PIVSlot]])
    func whatIsRememberedIsRecalled(slots: [PIVSlot]) {
        #expect(RetiredSlotMemory.slots(in: RetiredSlotMemory.encode(slots)) == slots)
    }

    /// Memory is a file that anybody may have written to.
    @Test(arguments: [[], [0], [2, 0x82], [1, 0x9A], [1, 0x00], [1, 0x82, 0xFF], [0x82]] as [[UInt8]])
    func anythingElseIsForgotten(bytes: [UInt8]) {
        #expect(RetiredSlotMemory.slots(in: bytes) == nil)
    }
}
