/// The end of a question that has no answer by then: a time, or the end of the request that it belongs to.
public struct QuestionEnd: Sendable {
    /// Nil for no limit.
    public let time: ContinuousClock.Instant?
    private let isOver: @Sendable () -> Bool

    /// - Parameter isOver: whether the request is over. It is asked several times a second.
    public init(at time: ContinuousClock.Instant?, when isOver: @escaping @Sendable () -> Bool = { false }) {
        (self.time, self.isOver) = (time, isOver)
    }

    public var hasCome: Bool { isOver() || time.map { .now >= $0 } ?? false }

    /// The end, or a time before it.
    public func limited(to other: ContinuousClock.Instant) -> QuestionEnd {
        QuestionEnd(at: time.map { min($0, other) } ?? other, when: isOver)
    }
}
