internal import SecureBytes
internal import TokenKit

/// An order to a running virtual card, as one line of text.
public enum ControlOrder: Sendable, Hashable {
    case insert
    case remove
    case touch
    case status
    case stop
    /// A fault for the command after that many others.
    case fault(CardFault, at: Int)
    /// Cancels every fault.
    case clearFaults

    /// Reads a line: `insert`, `fault status 6F00 at 3`, `fault delay 5000 at 0`, …
    ///
    /// - Returns: nil for anything that is not an order.
    public init?(parsing line: String) {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "insert" where words.count == 1: self = .insert
        case "remove" where words.count == 1: self = .remove
        case "touch" where words.count == 1: self = .touch
        case "status" where words.count == 1: self = .status
        case "stop" where words.count == 1: self = .stop
        case "fault" where words == ["fault", "clear"]: self = .clearFaults
        case "fault":
            guard words.count >= 4, words[words.count - 2] == "at", let index = Int(words[words.count - 1]), index >= 0,
                let fault = CardFault(parsing: Array(words[1..<words.count - 2]))
            else { return nil }
            self = .fault(fault, at: index)
        default: return nil
        }
    }

    /// The line that ``init(parsing:)`` reads.
    public var line: String {
        switch self {
        case .insert: "insert"
        case .remove: "remove"
        case .touch: "touch"
        case .status: "status"
        case .stop: "stop"
        case .fault(let fault, let index): "fault \(fault.words) at \(index)"
        case .clearFaults: "fault clear"
        }
    }
}

extension CardFault {
    /// The largest number that an order may have: milliseconds of a delay, or bytes of an answer.
    private static let limit = 1_000_000

    /// Reads `delay MILLISECONDS`, `drop`, `reset`, `remove`, `status SW`, `truncate BYTES` or `oversize BYTES`.
    public init?(parsing words: [String]) {
        switch (words.first, words.count) {
        case ("drop", 1): self = .drop
        case ("reset", 1): self = .reset
        case ("remove", 1): self = .remove
        case ("status", 2):
            guard let status = Hex.decode(words[1]), status.count == 2 else { return nil }
            self = .status(StatusWord(status[0], status[1]))
        case (let kind?, 2):
            guard let number = Int(words[1]), (0...CardFault.limit).contains(number) else { return nil }
            switch kind {
            case "delay": self = .delay(.milliseconds(number))
            case "truncate": self = .truncate(to: number)
            case "oversize": self = .oversize(to: number)
            default: return nil
            }
        default: return nil
        }
    }

    /// The line that ``init(parsing:)`` reads.
    var words: String {
        switch self {
        case .delay(let duration): "delay \(duration.milliseconds)"
        case .drop: "drop"
        case .reset: "reset"
        case .remove: "remove"
        case .status(let status): "status \(Hex.encode([status.sw1, status.sw2]))"
        case .truncate(let count): "truncate \(count)"
        case .oversize(let count): "oversize \(count)"
        }
    }
}
