import Foundation
import Platform
import Testing

@Suite struct DescriptorTests {
    private static func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    @Test func moreThanASocketTakesAtOnceIsSentWhole() throws {
        let (sender, receiver) = try DescriptorTests.pair()
        let bytes = (0..<1 << 21).map { UInt8(truncatingIfNeeded: $0 * 31) }
        let thread = Thread {
            try? Descriptor.send(bytes.span, to: sender)
            close(sender)
        }
        thread.start()
        #expect(try Descriptor.read(receiver, limit: bytes.count) == bytes)
        close(receiver)
    }

    @Test func sendingToWhoHasEndedIsAnErrorAndNoSignal() throws {
        let (sender, receiver) = try DescriptorTests.pair()
        close(receiver)
        let error = #expect(throws: SystemError.self) { try Descriptor.send([1].span, to: sender) }
        #expect(error?.number == EPIPE)
        close(sender)
    }

    @Test(arguments: [0, 1, 4, 5])
    func whatIsLongerThanTheLimitIsToldByOneByteMore(_ count: Int) throws {
        let (sender, receiver) = try DescriptorTests.pair()
        try Descriptor.write([UInt8](repeating: 1, count: count).span, to: sender)
        close(sender)
        #expect(try Descriptor.read(receiver, limit: 3).count == min(count, 4))
        close(receiver)
    }

    @Test func aDescriptorThatIsNoneIsAnError() {
        #expect(throws: SystemError(EBADF)) { try Descriptor.write([1].span, to: -1) }
        #expect(throws: SystemError(EBADF)) { try Descriptor.read(-1, limit: 1) }
    }
}
