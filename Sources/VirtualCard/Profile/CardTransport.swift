/// The transport of commands and answers between reader and card.
public struct CardTransport: Sendable, Hashable {
    public enum TransmissionProtocol: Sendable, Hashable {
        case t0, t1
    }

    /// The way the reader powers and reaches the card.
    public enum Interface: Sendable, Hashable {
        case contact, contactless
    }

    public var transmissionProtocol = TransmissionProtocol.t1
    public var interface = Interface.contact

    /// Whether the card takes extended length fields. T=0 has none.
    public var takesExtendedLength = true

    /// Whether the application template announces extended length fields, in tag `7F66`.
    public var announcesExtendedLength = false

    /// Bytes of data in the longest command, chained or extended.
    public var commandLimit = 4096

    /// Bytes of data in the longest extended answer.
    public var responseLimit = 4096

    /// Bytes of data in the longest answer, short or extended, after which 61xx announces the rest; nil for as many as Le asks for.
    public var pieceLength: Int?

    public init() {}
}
