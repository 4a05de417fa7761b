import TestSupport
import Testing
import TokenKit
import VirtualCard

/// A generator (SplitMix64) with the same numbers each time.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// Valid commands, which the tests damage.
private let commands: [[UInt8]] = [
    "00A4040009A0000003080000100000", "00CB3FFF055C035FC10500", "00CB3FFF0000055C035FC1050000",
    "00DB3FFF085C035FC105530101", "0020008008313233343536FFFF", "0020008000",
    "0024008010313233343536FFFF313233343536FFFF", "002C0080103132333435363738313233343536FFFF",
    "00870A9B047C02800000", "0087119A0E7C0C8200810801020304050607080000", "0047009A05AC0380011100",
    "0047009A0BAC09800111AA0101AB010100", "00FE119A030601AA", "00F70000", "00F79A00", "00F99A0000", "00FF FFFF1B0A9B18",
    "00FA0303", "00FB0000", "00F6FF9A", "00FD000003", "00F8000004", "00C0000000", "10CB3FFF025C03",
].map { [UInt8](hex: $0) }

@Suite struct RobustnessTests {
    @Test(arguments: [CardProfile.yubiKey57, .generic, .genericT0, .nestedTemplate, .strictClone], 0..<4)
    func damagedCommandsAreAnswered(profile: CardProfile, seed: Int) throws {
        var generator = Generator(state: UInt64(seed))
        let conversation = CardConversation(try VirtualCard(profile: profile, clock: SimulatedClock()))
        try conversation.select()
        try conversation.authenticate()
        for round in 0..<1500 {
            if round % 100 == 0 {
                try conversation.select()
                try conversation.authenticate()
            }
            let answer = conversation.card.process(damaged(using: &generator))
            #expect(answer.count >= 2)
            #expect(answer.count <= ResponseAPDU.maximumLength)
        }
    }

    private func damaged(using generator: inout Generator) -> [UInt8] {
        var bytes = commands.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let place = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0 where place < bytes.count: bytes[place] = .random(in: 0...255, using: &generator)
            case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes.insert(.random(in: 0...255, using: &generator), at: place)
            default: bytes = Array(bytes.prefix(place))
            }
        }
        return bytes
    }
}
