import KeychainModel
import Localization
import SecureBytes
import Testing
import Wire

@testable import HostAPI

@Suite struct MessageTests {
    @Test func aRequestComesOutAsItWentIn() throws {
        for request in try MessageSamples.requests() {
            for context in MessageSamples.contexts {
                let message = request.message(context)
                let parsed = try HostRequest.parse(message.bytes, lane: message.lane)
                #expect(parsed == (request, context))
                #expect(parsed.0.message(parsed.1).bytes == message.bytes)
            }
        }
    }

    @Test func anAnswerComesOutAsItWentIn() throws {
        for answer in try MessageSamples.answers() {
            let message = answer.message()
            let parsed = try HostAnswer(parsing: message.bytes, lane: message.lane)
            #expect(parsed == answer)
            #expect(parsed.message().bytes == message.bytes)
        }
    }

    @Test func theWordsOfAnErrorComeAlong() throws {
        let error = KeychainError(.authFailed, "wrong PIN", remedy: "try", key: "k", triesLeft: 2)
        let message = HostAnswer.failed(error).message()
        guard case .failed(let parsed) = try HostAnswer(parsing: message.bytes, lane: message.lane) else {
            Issue.record("another answer")
            return
        }
        #expect(parsed.description == error.description)
        #expect((parsed.key, parsed.triesLeft) == ("k", 2))
    }

    /// Found by fuzzing: milliseconds of some days were lost, and times without end trapped.
    @Test(arguments: [
        (Duration.zero, Duration.zero), (.milliseconds(1), .milliseconds(1)), (.milliseconds(999), .milliseconds(999)),
        (.milliseconds(168_056_160), .milliseconds(168_056_160)), (.seconds(-5), .zero),
        (.microseconds(1500), .milliseconds(1)),
        (.seconds(366 * 24 * 3600), .seconds(366 * 24 * 3600)), (.seconds(Int64.max), .seconds(366 * 24 * 3600)),
    ])
    func aTimeLimitComesInMillisecondsOfAYearAtMost(limit: Duration, parsed: Duration) throws {
        let message = HostRequest.places.message(RequestContext(timeLimit: limit))
        #expect(try HostRequest.parse(message.bytes, lane: message.lane).1.timeLimit == parsed)
    }

    @Test func secretsAreInTheirLaneAlone() throws {
        let secret = Array("s3cret!".utf8)
        let addition = Addition(.genericPassword, [:], der: nil, secret: MessageSamples.secret("s3cret!"), to: nil)
        let context = RequestContext(credentials: [.init(.pin, Secret(copying: secret.span))])
        for message in [
            HostRequest.change([.add(addition)]).message(context), HostAnswer.secret(addition.secret).message(),
        ] {
            #expect(!message.bytes.contains(secret))
            let lane = message.lane
            #expect(lane.copied().contains(secret))
        }
    }

    @Test func aMessageThatIsCutOffIsRefused() throws {
        for request in try MessageSamples.requests() {
            let message = request.message(MessageSamples.contexts[1])
            for count in 0..<message.bytes.count {
                #expect(throws: WireError.self) {
                    try HostRequest.parse(Array(message.bytes.prefix(count)), lane: message.lane)
                }
            }
        }
    }

    @Test func whatIsLeftBehindAMessageIsRefused() throws {
        let message = HostRequest.keychains(.cards).message(RequestContext())
        #expect(throws: WireError.trailingBytes) { try HostRequest.parse(message.bytes + [0], lane: message.lane) }
        #expect(throws: WireError.trailingBytes) {
            try HostRequest.parse(message.bytes, lane: Secret(copying: [1].span))
        }
        #expect(throws: WireError.truncated) {
            let answer = HostAnswer.secret(MessageSamples.secret("long")).message()
            _ = try HostAnswer(parsing: answer.bytes, lane: Secret(copying: [1].span))
        }
    }

    /// With each byte changed in three ways, a message is refused, or is another one that is written as it was read.
    @Test func aChangedMessageIsRefusedOrAnother() throws {
        // One expectation for all: half a million of them would take most of a minute.
        var confused: [String] = []
        for request in try MessageSamples.requests() {
            let message = request.message(MessageSamples.contexts[1])
            Self.changing(message.bytes) { bytes in
                guard let parsed = try? HostRequest.parse(bytes, lane: message.lane) else { return }
                if parsed.0.message(parsed.1).bytes != bytes { confused.append("\(request) as \(bytes)") }
            }
        }
        for answer in try MessageSamples.answers() {
            let message = answer.message()
            Self.changing(message.bytes) { bytes in
                guard let parsed = try? HostAnswer(parsing: bytes, lane: message.lane) else { return }
                if parsed.message().bytes != bytes { confused.append("\(answer) as \(bytes)") }
            }
        }
        #expect(confused.isEmpty)
    }

    /// Calls `body` with the message in which one byte is another, for three values of each byte.
    private static func changing(_ message: [UInt8], _ body: ([UInt8]) -> Void) {
        for index in message.indices {
            for change in [0x01, 0x80, 0xFF] as [UInt8] {
                var bytes = message
                bytes[index] ^= change
                body(bytes)
            }
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: [UInt8]) -> Bool {
        guard count >= other.count else { return false }
        return (0...count - other.count).contains { self[$0..<$0 + other.count].elementsEqual(other) }
    }
}
