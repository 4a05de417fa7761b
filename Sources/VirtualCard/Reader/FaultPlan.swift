internal import Synchronization
internal import TokenKit

/// The faults of commands to a card.
public final class FaultPlan: Sendable {
    private struct State {
        var commandCount = 0
        var faults: [Int: [CardFault]] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Orders a fault for the command after `index` others; 0 is the next command.
    public func order(_ fault: CardFault, at index: Int = 0) {
        state.withLock { $0.faults[$0.commandCount &+ max(index, 0), default: []].append(fault) }
    }

    /// Cancels every fault that has not happened yet.
    public func clear() {
        state.withLock { $0.faults = [:] }
    }

    /// The number of faults that are still to come.
    public var count: Int { state.withLock { $0.faults.values.reduce(0) { $0 + $1.count } } }

    /// Passes a command to the card, with the faults ordered for it, in their order.
    func exchange(_ command: [UInt8], with card: VirtualCard) -> CardExchange {
        var (answer, isDropped): ([UInt8]?, Bool) = (nil, false)
        var changes: [CardFault] = []
        for fault in next() {
            switch fault {
            case .delay(let duration): card.clock.sleep(for: duration)
            case .reset: return .reset
            case .remove: return .removed
            case .status(let status): answer = ResponseAPDU(status: status).encoded()
            case .drop: isDropped = true
            case .truncate, .oversize: changes.append(fault)
            }
        }
        let final = changes.reduce(answer ?? card.process(command)) { $1.changing($0) }
        return isDropped ? .noAnswer : .answer(final)
    }

    private func next() -> [CardFault] {
        state.withLock { state in
            defer { state.commandCount &+= 1 }
            return state.faults.removeValue(forKey: state.commandCount) ?? []
        }
    }
}

extension CardFault {
    fileprivate func changing(_ answer: [UInt8]) -> [UInt8] {
        switch self {
        case .truncate(let count): Array(answer.prefix(max(count, 0)))
        case .oversize(let count):
            answer.dropLast(2) + Array(repeating: 0, count: max(count - answer.count, 0)) + answer.suffix(2)
        case .delay, .drop, .reset, .remove, .status: answer
        }
    }
}
