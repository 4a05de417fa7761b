internal import SecureBytes

/// A channel to a card, which takes one command and gives one answer.
///
/// A PC/SC transaction, the virtual card, a script and a recorder are channels. The layers above do not know which one they use.
public protocol CardChannel: AnyObject {
    /// Sends one command APDU and returns the response APDU, status word included.
    ///
    /// The bytes may hold a PIN: an implementation keeps no copy.
    func transmit(_ command: Span<UInt8>) throws(CardError) -> [UInt8]

    /// Has the reader ask for a PIN on its own keys, put it into a command, and send that.
    ///
    /// - Parameter header: the command without its data.
    /// - Returns: the card's answer, or a status word of the reader's own where nothing was sent.
    func transmit(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> [UInt8]

    /// Keeps other programs from the card from now on, if they are not kept from it already.
    func hold() throws(CardError)
}

extension CardChannel {
    /// Does nothing: most channels are not shared with other programs.
    public func hold() {}

    /// Most channels lead to no reader with keys.
    public func transmit(_ header: CommandAPDU, entering entry: PINEntry) throws(CardError) -> [UInt8] {
        throw CardError(.communication, "the reader has no keys to type a PIN on")
    }
}

/// The point from which a transaction keeps other programs from the card.
public enum CardHold: Sendable {
    case fromTheStart
    /// The first command goes without a transaction, since no other program can interrupt it. That saves two of four calls of the
    /// service.
    case fromTheSecondCommand
}

/// A reader that may hold a card.
public protocol CardReader: Sendable {
    /// The reader's name, as the PC/SC service gives it.
    var name: String { get }

    /// The reader's state at the moment. Nothing is sent to a card.
    var occupancy: ReaderOccupancy { get }

    /// Connects to the card in the reader, shared with other programs.
    ///
    /// - Parameters:
    ///   - trace: a listener for each command and answer; nil for none.
    ///   - wait: the caller's wait for another program so far.
    func connect(trace: (any CardTrace)?, _ wait: CardWait) throws(CardError) -> any CardConnection
}

extension CardReader {
    /// Connects to the card in the reader, shared with other programs.
    public func connect(trace: (any CardTrace)?) throws(CardError) -> any CardConnection {
        try connect(trace: trace, CardWait())
    }

    /// Whether there is a card in the reader at the moment, answering or mute. Nothing is sent to it.
    public var hasCard: Bool { occupancy.hasCard }
}

/// The state of a reader as PC/SC reports it, without a command to the card.
public struct ReaderOccupancy: Hashable, Sendable {
    public let hasCard: Bool

    /// The number of insertions and removals that the service has counted; zero where it does not count.
    public let changeCount: Int

    public init(hasCard: Bool, changeCount: Int = 0) {
        self.hasCard = hasCard
        self.changeCount = changeCount
    }
}

/// A connection to one inserted card. It has no `transmit`: only a transaction, borrowed from it, reaches the card.
public protocol CardConnection: AnyObject, Sendable {
    /// The card's answer to reset.
    var atr: ATR { get }

    /// Whether the card that was connected to is still in. Nothing is sent to it.
    var isCardPresent: Bool { get }

    /// Whether another program holds a transaction at the moment, which may last. Does not wait.
    var isHeldElsewhere: Bool { get }

    /// Whether a PIN can be typed on the reader's own keys. The reader is asked once; nothing is sent to the card.
    func takes(_ entry: PINEntry, _ wait: CardWait) -> Bool

    /// Runs `body` while no other program can reach the card.
    ///
    /// A card that another program reset since the last transaction is reconnected first, and the transaction has a new
    /// ``CardTransaction/epoch``. Only the reader itself may ask a person for something meanwhile.
    ///
    /// - Parameters:
    ///   - hold: with ``CardHold/fromTheSecondCommand`` such a reset is an error, ``CardError`` `.reset`.
    ///   - wait: the caller's wait for another program so far.
    func withTransaction<Result: ~Copyable>(
        _ hold: CardHold, _ wait: CardWait, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result

    /// Ends the connection.
    ///
    /// - Parameter resetting: whether the card is reset, so that no PIN state stays behind.
    func disconnect(resetting: Bool)
}

extension CardConnection {
    /// Not every connection can tell.
    public var isHeldElsewhere: Bool { false }

    /// Most readers have no keys.
    public func takes(_ entry: PINEntry, _ wait: CardWait) -> Bool { false }

    /// Runs `body` while no other program can reach the card.
    public func withTransaction<Result: ~Copyable>(
        _ hold: CardHold = .fromTheStart, _ body: (inout CardTransaction) throws(TokenError) -> Result
    ) throws(TokenError) -> Result {
        try withTransaction(hold, CardWait(), body)
    }
}
