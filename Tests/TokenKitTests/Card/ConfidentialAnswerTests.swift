import Glibc
import SecureBytes
import TestSupport
import Testing
import TokenKit

/// Gives answers with data that a seed determines, and records the address of each.
private final class PlacedAnswers: CardChannel {
    private let parts: [(count: Int, status: StatusWord)]
    private var next = 0
    private let seed: UInt8
    private(set) var places: [(address: UInt, count: Int)] = []

    init(seed: UInt8, _ parts: [(count: Int, status: StatusWord)]) {
        (self.seed, self.parts) = (seed, parts)
    }

    static func byte(_ index: Int, seed: UInt8) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31) ^ seed }

    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        guard next < parts.count else { throw CardError(.communication, "there are no more parts") }
        let (count, status) = parts[next]
        let offset = parts.prefix(next).reduce(0) { $0 + $1.count }
        next += 1
        let answer = (0..<count).map { Self.byte(offset + $0, seed: seed) } + [status.sw1, status.sw2]
        places.append((answer.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }, count))
        return answer
    }

    /// Whether the memory of a part, except its first bytes, still holds the part.
    func isLeft(_ part: Int) -> Bool {
        let (address, count) = places[part]
        let offset = parts.prefix(part).reduce(0) { $0 + $1.count }
        // The allocator writes into the beginning of memory that is given back.
        let (skipped, file) = (64, open("/proc/self/mem", O_RDONLY))
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: count - skipped)
        let read = pread(file, &bytes, bytes.count, Int(bitPattern: address) + skipped)
        return read == bytes.count
            && bytes.indices.allSatisfy { bytes[$0] == Self.byte(offset + skipped + $0, seed: seed) }
    }
}

/// Plaintext from the card is only in the secret that is made of it.
@Suite struct ConfidentialAnswerTests {
    private static let atr = ATR([UInt8](hex: "3BF81300008131FE454A434F5076323431B7"))

    private func decrypt(_ channel: PlacedAnswers, limit: Int) throws(CardError) -> Secret {
        var card = CardTransaction(on: channel, link: CardLink(atr: Self.atr, transmissionProtocol: .t1), epoch: 1)
        let command = CommandAPDU(
            ins: 0x87, p1: 7, p2: 0x9D, data: [1], expectedLength: CommandAPDU.anyLength, confidentiality: .response)
        var response = try card.send(command, limit: limit)
        return Secret(consuming: &response.data)
    }

    @Test func inOnePartItIsMovedNotCopied() throws {
        let channel = PlacedAnswers(seed: 0x5A, [(250, .success)])
        let secret = try decrypt(channel, limit: 250)
        #expect(!channel.isLeft(0))
        let bytes = Array(copying: secret.bytes)
        #expect(bytes == (0..<250).map { PlacedAnswers.byte($0, seed: 0x5A) })
    }

    @Test func inSeveralPartsEachIsOverwritten() throws {
        let more = StatusWord(rawValue: 0x61FA)
        let channel = PlacedAnswers(seed: 0xC3, [(256, more), (250, more), (250, .success)])
        let secret = try decrypt(channel, limit: 756)
        for part in 0..<3 { #expect(!channel.isLeft(part)) }
        let bytes = Array(copying: secret.bytes)
        #expect(bytes == (0..<756).map { PlacedAnswers.byte($0, seed: 0xC3) })
    }

    @Test func anArrayIsOverwrittenWhereItLies() {
        var bytes = (0..<300).map { PlacedAnswers.byte($0, seed: 1) }
        let place = bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        bytes.wipe()
        #expect(bytes.isEmpty)
        let file = open("/proc/self/mem", O_RDONLY)
        defer { close(file) }
        var left = [UInt8](repeating: 0, count: 200)
        #expect(pread(file, &left, 200, Int(bitPattern: place) + 80) == 200)
        #expect(left != (0..<200).map { PlacedAnswers.byte(80 + $0, seed: 1) })
    }
}
