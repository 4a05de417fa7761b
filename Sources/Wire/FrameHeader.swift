/// The header of each message on a connection between a client and the host.
///
///     kind (1) · 0 (3) · number of the request (4) · length of the fields (4) · length of the secrets (4) · fields · secrets
///
/// The fields hold the call or the answer. Values that may be secret, such as PINs, plaintext and the numbers of private keys,
/// are in the second part, which each side keeps in memory that it wipes.
package struct FrameHeader: Equatable {
    package enum Kind: UInt8 {
        /// The first message of a client, and its answer.
        case hello = 1
        /// Carries a further connection of this client as ancillary data.
        case connection = 2
        case request = 3
        case answer = 4
        /// The host is at work on the request: it is alive, and the client waits on.
        case working = 5
        /// The first message of a client that asks the host's face.
        case serviceHello = 6
        /// A question of the host about the request, which the client asks its person.
        case question = 7
        /// The client's reply to a question.
        case reply = 8
        /// Cancels a request that is under way on another connection. Its answer is empty.
        case cancellation = 9
        /// A part of the next message's fields, which are longer than a frame.
        case part = 10
        /// Carries a file as ancillary data, for the trace of commands to cards. Only a private host takes it.
        case trace = 11
        /// A message of the host for the client's person about the request, which has no reply.
        case notice = 12
        /// The first message of the C library, which asks for functions of SecKeychain.h.
        case keychainHello = 13
        /// The first message of a further connection of a client on another machine, with its ``Ticket``. Requests follow.
        case join = 14
    }

    package var kind: Kind
    /// The number, equal in a request and its answer. A connection has one request under way at a time.
    package var number: UInt32
    package var fieldCount: Int
    package var secretCount: Int

    package static let byteCount = 16

    /// Bytes that the fields of a message may have.
    package static let maximumFields = 1 << 20
    /// Bytes that the secrets of a message may have: the longest item, and 64 KiB for its other secrets.
    package static let maximumSecrets = (16 << 20) + (64 << 10)

    package init(_ kind: Kind, number: UInt32, fieldCount: Int, secretCount: Int) {
        self.kind = kind
        self.number = number
        self.fieldCount = fieldCount
        self.secretCount = secretCount
    }

    /// - Throws: ``WireError`` for another length, an unknown kind, or parts beyond their maximum.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count == Self.byteCount else { throw .truncated }
        guard let kind = Kind(rawValue: bytes[0]), bytes[1] == 0, bytes[2] == 0, bytes[3] == 0 else { throw .malformed }
        func number(at offset: Int) -> UInt32 {
            var number: UInt32 = 0
            for index in 0..<4 { number |= UInt32(bytes[offset + index]) << UInt32(8 * index) }
            return number
        }
        let (fields, secrets) = (Int(number(at: 8)), Int(number(at: 12)))
        guard fields <= Self.maximumFields, secrets <= Self.maximumSecrets else { throw .malformed }
        self.init(kind, number: number(at: 4), fieldCount: fields, secretCount: secrets)
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = [kind.rawValue, 0, 0, 0]
        bytes.reserveCapacity(Self.byteCount)
        for value in [number, UInt32(clamping: fieldCount), UInt32(clamping: secretCount)] {
            for index in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * index))) }
        }
        return bytes
    }
}
