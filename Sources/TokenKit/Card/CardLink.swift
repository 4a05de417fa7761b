/// The transport to one inserted card: its command length limits, and the trace.
///
/// A connection keeps its link while the card stays in, so that limits are negotiated once.
public final class CardLink {
    /// The transmission protocol of ISO/IEC 7816-3.
    public enum TransmissionProtocol: Sendable, Hashable {
        case t0, t1
    }

    public let transmissionProtocol: TransmissionProtocol

    /// Whether commands may be in extended form.
    ///
    /// The first value is that of the answer to reset. A driver that learns from the application (`7F66`) that the card takes
    /// extended commands calls ``allowExtendedLength(commandLimit:)``. A refusal ends their use for the insertion.
    public private(set) var usesExtendedLength: Bool

    /// Bytes of the longest command that the card takes, header included.
    public private(set) var commandLimit: Int

    let trace: (any CardTrace)?
    private var wasRefused = false

    public init(atr: ATR, transmissionProtocol: TransmissionProtocol, trace: (any CardTrace)? = nil) {
        self.transmissionProtocol = transmissionProtocol
        self.trace = trace
        usesExtendedLength = transmissionProtocol == .t1 && atr.announcesExtendedLength
        commandLimit = CommandAPDU.maximumExtendedData
    }

    /// Notes that the application takes extended commands, unless they have been refused before or T=0 has no room.
    public func allowExtendedLength(commandLimit: Int) {
        guard transmissionProtocol == .t1, !wasRefused, commandLimit > CommandAPDU.maximumShortData else { return }
        self.commandLimit = commandLimit
        usesExtendedLength = true
    }

    /// Notes that card or reader refused an extended command.
    public func refuseExtendedLength() {
        wasRefused = true
        usesExtendedLength = false
    }
}

/// A listener that gets each command and answer as they pass, with confidential parts already masked.
public protocol CardTrace: AnyObject, Sendable {
    /// - Parameters:
    ///   - command: header and data in hexadecimal.
    ///   - response: data and status word in hexadecimal, or the error.
    func exchanged(command: String, response: String)
}
