internal import Glibc
internal import Platform
internal import Synchronization

/// The process's context for what the PC/SC service answers at once: the readers, and whether a card is in each.
///
/// A context of its own for each question would cost the service a thread, and the process a look at all its descriptors. This one is
/// used by one thread at a time, for calls that do not wait, and released when nothing was asked for ``patience``, so that a service
/// without other programs can end.
final class StatusContext: Sendable {
    static let shared = StatusContext()

    private struct State {
        var context: PCSCContext?
        /// The number of contexts so far.
        var number = 0
        var lastAsked = ContinuousClock.now
    }

    private let state = Mutex(State())

    private static let patience = Duration.seconds(10)

    /// The readers' names, in the service's order.
    ///
    /// - Throws: ``CardError`` `.serviceUnavailable` or `.accessDenied`.
    func readerNames() throws(CardError) -> [String] {
        try ask { (context) throws(CardError) in try context.readerNames() }
    }

    /// The status of a reader; nil where the service does not know the reader, or does not answer.
    func status(of reader: String) -> PCSCStatus? {
        try? ask { (context) throws(CardError) in try context.status(of: reader) }
    }

    /// The status of a reader, and the number of the context that tells it. A restarted service has another context.
    func numberedStatus(of reader: String) -> (context: Int, status: PCSCStatus)? {
        state.withLock { state in
            let status = try? answer(&state) { (context) throws(CardError) in try context.status(of: reader) }
            return status.map { (state.number, $0) }
        }
    }

    /// The answer to a question. While another thread asks, which a service that hangs can make long, it is asked in a new context.
    private func ask<Answer: Sendable>(
        _ question: (PCSCContext) throws(CardError) -> Answer
    ) throws(CardError) -> Answer {
        let result = state.withLockIfAvailable { state in
            Result { () throws(CardError) in try answer(&state, question) }
        }
        guard let result else { return try question(try PCSCContext()) }
        return try result.get()
    }

    /// The answer in the kept context, or in a new one where the service has been restarted since.
    private func answer<Answer>(
        _ state: inout State, _ question: (PCSCContext) throws(CardError) -> Answer
    ) throws(CardError) -> Answer {
        state.lastAsked = .now
        if let context = state.context, context.isOwn, let answer = try? question(context) { return answer }
        state.context = nil
        let context = try PCSCContext()
        state.number += 1
        let answer = try question(context)
        if BlockingThread.start({ [self] in releaseAfterPatience() }) { state.context = context }
        return answer
    }

    private func releaseAfterPatience() {
        while true {
            let rest = state.withLock { state in
                let rest = StatusContext.patience - state.lastAsked.duration(to: .now)
                if rest <= .zero { state.context = nil }
                return rest
            }
            guard rest > .zero else { return }
            usleep(useconds_t(rest / .microseconds(1)))
        }
    }
}

extension PCSCContext {
    /// The present status of a reader; nil where the service does not know the reader.
    fileprivate func status(of reader: String) throws(CardError) -> PCSCStatus? {
        let (code, now) = statusChange(from: [PCSCStatus(reader: reader)], seconds: 0)
        switch code {
        case .success, .timeout: return now.first
        case .unknownReader: return nil
        default: throw CardError(code)
        }
    }
}
