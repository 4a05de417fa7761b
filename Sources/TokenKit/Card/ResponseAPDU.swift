/// A card's answer: data and a status word. ISO/IEC 7816-4 §5.1.
public struct ResponseAPDU: Hashable, Sendable {
    /// Bytes of the longest answer there is, status word included.
    public static let maximumLength = CommandAPDU.anyLength + 2

    public var data: [UInt8]
    public var status: StatusWord

    public init(data: [UInt8] = [], status: StatusWord) {
        self.data = data
        self.status = status
    }

    /// Reads an answer as it came from the card.
    ///
    /// - Throws: ``CardError`` `.malformed` for fewer than two bytes or more than an answer can have.
    public init(parsing bytes: [UInt8]) throws(CardError) {
        guard let sw2 = bytes.last, bytes.count >= 2 else {
            throw CardError(.malformed, "the card answered \(bytes.count) bytes, fewer than a status word")
        }
        guard bytes.count <= ResponseAPDU.maximumLength else {
            throw CardError(.malformed, "the card answered \(bytes.count) bytes, more than an answer can have")
        }
        data = Array(bytes.dropLast(2))
        status = StatusWord(bytes[bytes.count - 2], sw2)
    }

    /// The bytes as the card sends them.
    public func encoded() -> [UInt8] {
        data + [status.sw1, status.sw2]
    }
}
