internal import Platform
internal import Synchronization

/// The questions about uses of keys: one at a time for all connections, and a denied one not again for a moment. Another machine could
/// ask until the person gives in.
final class AgentQuestions: Sendable {
    struct Subject: Hashable {
        /// The process at the other end of the connection.
        let process: Int32
        let key: [UInt8]
        /// Whether another machine asks: any of those on the way, since each could make up further ones.
        let isForwarded: Bool
    }

    private let turn = QuestionTurn()
    private let denials = Mutex<[Subject: ContinuousClock.Instant]>([:])

    /// The time for which a denial also answers equal questions, such as those that waited meanwhile.
    private static let denialLasts = Duration.seconds(10)

    private struct Ended: Error {}

    /// - Parameters:
    ///   - hasEnded: whether the connection has ended; called while another question is before the person.
    ///   - question: asks, and returns whether the person agrees.
    func ask(about subject: Subject, unless hasEnded: () -> Bool, _ question: () -> Bool) -> Bool {
        do throws(Ended) {
            return try turn.take {
                () throws(Ended) in
                if hasEnded() { throw Ended() }
            } _: { _ throws(Ended) in
                let isDenied = denials.withLock { denials in
                    denials = denials.filter { $1.duration(to: .now) < AgentQuestions.denialLasts }
                    return denials[subject] != nil
                }
                guard !isDenied, !hasEnded() else { return false }
                let isAllowed = question()
                if !isAllowed { denials.withLock { $0[subject] = .now } }
                return isAllowed
            }
        } catch {
            return false
        }
    }
}
