internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization

/// A request that is under way: its time limit, and whether it is cancelled.
final class RequestTicket: Sendable {
    private let isCancelled = Atomic(false)
    /// Nil until it is waited for: it takes a descriptor, which would make a signature a tenth longer.
    private let madeSignal = Mutex<Signal?>(nil)
    private let cancellationHandler = Mutex<(@Sendable () -> Void)?>(nil)
    /// The end of the request's time; nil for no limit.
    let end: ContinuousClock.Instant?

    init(_ context: RequestContext) {
        end = context.timeLimit.map { .now + $0 }
    }

    /// Sent once the request is cancelled.
    var signal: Signal {
        let signal = madeSignal.withLock { made in
            let signal = made ?? Signal()
            made = signal
            return signal
        }
        if isCancelled.load(ordering: .acquiring) { signal.send() }
        return signal
    }

    func cancel() {
        isCancelled.store(true, ordering: .releasing)
        madeSignal.withLock { $0 }?.send()
        cancellationHandler.withLock { $0 }?()
    }

    /// Has `body` called once the request is cancelled, at once where it is already.
    func whenCancelled(_ body: @escaping @Sendable () -> Void) {
        cancellationHandler.withLock { $0 = body }
        if isCancelled.load(ordering: .acquiring) { body() }
    }

    /// Whether the request is cancelled.
    var isOver: Bool { isCancelled.load(ordering: .acquiring) }

    /// - Throws: `errSecUserCanceled` once the request is cancelled or its time is over. It is checked before each step.
    func check() throws(KeychainError) {
        if isOver { throw KeychainError(.userCanceled, "the request was cancelled") }
        if let end, .now >= end { throw KeychainError(.userCanceled, "the time of the request is over") }
    }

    /// The shorter of a wait and the time that the request has left.
    func limited(_ wait: Duration) -> Duration {
        max(.zero, end.map { min(wait, ContinuousClock.now.duration(to: $0)) } ?? wait)
    }
}

/// The requests of a client that are under way.
final class RequestTable: Sendable {
    private struct State {
        var entries: [(number: RequestNumber?, ticket: RequestTicket)] = []
        /// The numbers without a request that were cancelled last, the latest at the end. A cancellation comes over another connection than
        /// its request, which it may overtake.
        var cancelledEarly: [RequestNumber] = []
        var hasEnded = false
    }

    /// As many as a client has connections, each with one request under way.
    private static let maximumCancelledEarly = 128

    private let state = Mutex(State())

    /// Answers a request. Of several requests with one number, only the last can be cancelled.
    func run<Result: Sendable>(
        _ context: RequestContext, _ body: (RequestTicket) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        let ticket = RequestTicket(context)
        let isLate = state.withLock { state in
            state.entries.append((context.number, ticket))
            guard let early = state.cancelledEarly.firstIndex(where: { $0 == context.number }) else {
                return state.hasEnded
            }
            state.cancelledEarly.remove(at: early)
            return true
        }
        defer { state.withLock { $0.entries.removeAll { $0.ticket === ticket } } }
        if isLate { ticket.cancel() }
        try ticket.check()
        return try body(ticket)
    }

    var count: Int { state.withLock(\.entries.count) }

    /// Cancels a request. One that has not begun is cancelled once it begins, unless many others were cancelled since.
    func cancel(_ number: RequestNumber) {
        let ticket = state.withLock { state -> RequestTicket? in
            if let entry = state.entries.last(where: { $0.number == number }) { return entry.ticket }
            state.cancelledEarly.removeAll { $0 == number }
            if state.cancelledEarly.count == RequestTable.maximumCancelledEarly { state.cancelledEarly.removeFirst() }
            state.cancelledEarly.append(number)
            return nil
        }
        ticket?.cancel()
    }

    /// Cancels all requests, also those that begin later: their client has gone.
    func end() {
        let entries = state.withLock { state in
            state.hasEnded = true
            return state.entries
        }
        for entry in entries { entry.ticket.cancel() }
    }
}

/// Asks on behalf of a request. No question is begun, and no answer is used, once the request is cancelled or its time is over. The end of
/// its time ends a question.
struct TicketPrompter: ForwardingPrompter {
    private let ticket: RequestTicket
    let prompter: any Prompter
    private let journal: ClientJournal

    init(ticket: RequestTicket, prompter: any Prompter, journal: ClientJournal) {
        self.ticket = ticket
        // A question does not outlast the request, nor the program that made it.
        self.prompter = prompter.givingUp(at: QuestionEnd(at: ticket.end) { ticket.isOver })
        self.journal = journal
    }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        if let action = request.refusedAction { journal.note(action, nil, of: request.subject, failure: .authFailed) }
        return try checking { () throws(KeychainError) in try prompter.ask(request) }
    }

    func askForAnother(_ request: PromptRequest) throws(KeychainError) -> Secret {
        try checking { () throws(KeychainError) in try prompter.askForAnother(request) }
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool {
        try checking { () throws(KeychainError) in try prompter.confirm(question) }
    }

    func decide(_ question: AccessQuestion) throws(KeychainError) -> AccessDecision {
        try checking { () throws(KeychainError) in try prompter.decide(question) }
    }

    private func checking<Answer: ~Copyable>(
        _ ask: () throws(KeychainError) -> Answer
    ) throws(KeychainError) -> Answer {
        try ticket.check()
        do throws(KeychainError) {
            let answer = try ask()
            try ticket.check()
            return answer
        } catch {
            try ticket.check()
            throw error
        }
    }
}

extension PromptRequest {
    /// The answer that was refused, where the question is asked again for that.
    fileprivate var refusedAction: JournalEntry.Action? {
        guard failure != nil else { return nil }
        return switch purpose {
        case .pin, .unblockingKey: .answerPIN
        case .password: .answerPassword
        case .newPIN, .newUnblockingKey, .newPassword, .managementKey: nil
        }
    }
}
