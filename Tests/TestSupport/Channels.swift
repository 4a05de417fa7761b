import SecureBytes
import TokenKit

/// Answers each command with the next line of a script, and records the commands.
///
/// A line is a response in hexadecimal, or the error that comes in its place.
public final class ScriptedChannel: CardChannel {
    public enum Line: ExpressibleByStringLiteral, Sendable {
        case answer(String)
        case failure(CardError.Code)

        public init(stringLiteral hex: String) {
            self = .answer(hex)
        }
    }

    /// The commands so far, in hexadecimal.
    public private(set) var commands: [String] = []

    private var lines: ArraySlice<Line>

    public init(_ lines: [Line]) {
        self.lines = lines[...]
    }

    /// Whether every line of the script has been used.
    public var isFinished: Bool { lines.isEmpty }

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        commands.append(Hex.encode(Array(copying: command)))
        switch lines.popFirst() {
        case .answer(let hex): return Hex.decode(hex) ?? []
        case .failure(let code): throw CardError(code, "as scripted")
        case nil: throw CardError(.communication, "the script has no line for \(commands.last ?? "")")
        }
    }
}

/// Answers each command as a function of it.
public final class AnsweringChannel: CardChannel {
    private let answer: ([UInt8]) throws(CardError) -> [UInt8]

    public init(_ answer: @escaping ([UInt8]) throws(CardError) -> [UInt8]) {
        self.answer = answer
    }

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        try answer(Array(copying: command))
    }
}

/// Passes commands on and counts them.
public final class CountingChannel: CardChannel {
    private let next: any CardChannel

    /// The commands so far.
    public private(set) var commands: [[UInt8]] = []

    public init(_ next: any CardChannel) {
        self.next = next
    }

    public var count: Int { commands.count }

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        commands.append(Array(copying: command))
        return try next.transmit(command)
    }
}

/// Passes commands on until the card is gone: after `count` of them every further one fails.
public final class CardRemovedAfter: CardChannel {
    private let next: any CardChannel
    private var left: Int

    public init(_ count: Int, _ next: any CardChannel) {
        left = count
        self.next = next
    }

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] {
        guard left > 0 else { throw CardError(.removed, "the card was removed") }
        left -= 1
        return try next.transmit(command)
    }
}

/// Answers every command with one byte and 61xx, which announces more.
public final class AlwaysAnswers61xx: CardChannel {
    public init() {}

    public func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8] { [0xAA, 0x61, 0x00] }
}

/// Records every command and answer that is traced.
public final class RecordingTrace: CardTrace, @unchecked Sendable {
    /// Commands and answers as they were shown, one after the other.
    public private(set) var lines: [String] = []

    public init() {}

    public func exchanged(command: String, response: String) {
        lines.append("> " + command)
        lines.append("< " + response)
    }
}

extension Array where Element == UInt8 {
    /// Bytes written down as hexadecimal digits.
    public init(hex: String) {
        self = Hex.decode(hex) ?? []
    }
}
