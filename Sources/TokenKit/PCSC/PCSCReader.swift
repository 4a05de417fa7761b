internal import Platform

/// A smart-card reader of the PC/SC service.
///
///     for reader in try PCSCReader.all() {
///         let card = try reader.connect(trace: nil)
///         print(reader.name, card.atr)
///     }
public struct PCSCReader: CardReader, Hashable {
    /// Whether other programs may use the card at the same time.
    public enum Sharing: Sendable, Hashable {
        case shared, exclusive
    }

    public let name: String

    /// The time for which a call waits for another program's transaction, before the card counts as in use.
    public var patience: Duration

    /// The time that the card may take for an answer: four times a card's wait for a touch.
    public var answerLimit: Duration

    /// A reader by its name, connected or not.
    public init(name: String, patience: Duration = .seconds(30), answerLimit: Duration = .seconds(60)) {
        self.name = name
        self.patience = patience
        self.answerLimit = answerLimit
    }

    /// The readers that are connected, in the service's order.
    ///
    /// - Throws: ``CardError`` `.serviceUnavailable` or `.accessDenied`. An empty list is not an error; callers that need a
    ///   reader throw ``CardError/noReaderConnected``.
    public static func all() throws(CardError) -> [PCSCReader] {
        try StatusContext.shared.readerNames().map { PCSCReader(name: $0) }
    }

    public var occupancy: ReaderOccupancy {
        guard let status else { return ReaderOccupancy(hasCard: false) }
        return ReaderOccupancy(hasCard: status.presence != .absent, changeCount: Int(status.changeCount))
    }

    private var status: PCSCStatus? { StatusContext.shared.status(of: name) }

    public func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection {
        try connect(sharing: .shared, trace: trace, wait)
    }

    /// The time that a connection may take at least, even after a wait that is over.
    private static let promptness = Duration.milliseconds(250)

    /// Connects to the card in the reader.
    ///
    /// Each connection has its own context, so that a restarted service is found again.
    ///
    /// - Parameters:
    ///   - sharing: ``Sharing/exclusive`` keeps other programs away for as long as the connection lasts.
    ///   - trace: a listener for each command and answer; nil for none.
    ///   - wait: the caller's wait for another program so far.
    /// - Throws: ``CardError`` `.serviceUnavailable`, `.accessDenied`, `.noReader`, `.noCard`, `.muteCard`, or `.inUse`
    ///   when another program is connected exclusively or held a transaction for longer than ``patience``; `.cancelled`.
    public func connect(
        sharing: Sharing, trace: (any CardTrace)?, _ wait: CardWait = CardWait()
    ) throws(CardError) -> any CardConnection {
        let limit = max(wait.rest(of: patience), PCSCReader.promptness)
        let outcome = BlockingThread.run(atMost: limit, unless: { wait.isCancelled }) {
            () -> Result<PCSCCard.Start, CardError> in
            do throws(CardError) {
                return .success(try PCSCCard.Start(self, sharing: sharing))
            } catch {
                return .failure(error)
            }
        }
        guard let outcome else {
            if wait.isCancelled { throw CardError(.cancelled, .connecting, reader: name) }
            // A program that holds a card is connected to it. Without such a connection, the card itself keeps the service
            // waiting.
            if let status, !status.isUsed { throw CardError(.unresponsiveCard, .connecting, reader: name) }
            throw CardError(.sharingViolation, .connecting, reader: name)
        }
        return PCSCCard(try outcome.get(), reader: self, trace: trace)
    }
}
