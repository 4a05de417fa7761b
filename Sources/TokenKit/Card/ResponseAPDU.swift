internal import SecureBytes

/// A card's answer: data and a status word. ISO/IEC 7816-4 §5.1.
public struct ResponseAPDU: Hashable, Sendable {
    /// Bytes of the longest answer, status word included.
    public static let maximumLength = CommandAPDU.anyLength + 2

    public var data: [UInt8]
    public var status: StatusWord

    public init(data: [UInt8] = [], status: StatusWord) {
        self.data = data
        self.status = status
    }

    /// Reads an answer as it came from the card. The data stay in the memory of `bytes`, which may be a secret's.
    ///
    /// - Throws: ``CardError`` `.malformed` for fewer than two bytes or more than an answer can have.
    public init(parsing bytes: consuming [UInt8]) throws(CardError) {
        guard let sw2 = bytes.last, bytes.count >= 2 else {
            throw CardError(.malformed, "the card answered \(bytes.count) bytes, fewer than a status word")
        }
        guard bytes.count <= ResponseAPDU.maximumLength else {
            throw CardError(.malformed, "the card answered \(bytes.count) bytes, more than an answer can have")
        }
        status = StatusWord(bytes[bytes.count - 2], sw2)
        bytes.removeLast(2)
        data = bytes
    }

    /// The bytes as the card sends them.
    public func encoded() -> [UInt8] {
        data + [status.sw1, status.sw2]
    }

    /// Appends the next part of an answer, and takes over its status word.
    ///
    /// - Parameter wiping: whether both former arrays are wiped, since a growing array would leave copies.
    mutating func append(_ part: inout ResponseAPDU, wiping: Bool) {
        status = part.status
        guard wiping else { return data += part.data }
        var whole: [UInt8] = []
        whole.reserveCapacity(data.count + part.data.count)
        whole += data
        whole += part.data
        data.wipe()
        part.data.wipe()
        data = whole
    }
}
