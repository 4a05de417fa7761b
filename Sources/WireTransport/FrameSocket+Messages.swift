package import SecureBytes
package import Wire

// Messages of several frames: all but the last are parts, with fields alone.
extension FrameSocket {
    /// A message that came over the connection.
    package struct Message: ~Copyable {
        package let kind: FrameHeader.Kind
        package let number: UInt32
        package let fields: [UInt8]
        package let secrets: Secret
        /// Whether the message counts in the quota until it is answered.
        package let isCounted: Bool

        package consuming func takeSecrets() -> Secret { secrets }
    }

    /// Bytes that the fields of a message of several frames may have: some ten thousand certificates.
    package static let maximumFields = 32 << 20

    /// The next message.
    ///
    /// - Parameters:
    ///   - maximum: bytes that its fields may have.
    ///   - end: until when its beginning is waited for, and that of each further frame; nil for no limit.
    ///   - quota: the quota that counts a long message, until the caller releases it.
    ///   - whileWaiting: runs the wait for the quota's share of the message with this number, which may take any time.
    /// - Returns: nil where the other side is gone, or sent an invalid or incomplete message.
    package func receiveMessage(
        upTo maximum: Int, by end: ContinuousClock.Instant? = nil, _ quota: MessageQuota? = nil,
        whileWaiting: (_ number: UInt32, _ wait: () -> Bool) -> Bool = { $1() }
    ) -> Message? {
        var (fields, number, isCounted): ([UInt8], UInt32?, Bool) = ([], nil, false)
        while true {
            let frame = receive(by: end) { header in
                guard header.fieldCount <= maximum - fields.count, number == nil || number == header.number,
                    header.kind != .part || header.fieldCount > 0 && header.secretCount == 0
                else { return false }
                number = header.number
                if let quota, !isCounted, MessageQuota.isLong(header) {
                    isCounted = quota.take() || whileWaiting(header.number) { quota.take(unless: { hasEnded }) }
                    return isCounted
                }
                return true
            }
            guard let frame else {
                if isCounted { quota?.release() }
                return nil
            }
            let header = frame.header
            fields += frame.fields
            guard header.kind == .part else {
                return Message(
                    kind: header.kind, number: header.number, fields: fields, secrets: frame.takeSecrets(),
                    isCounted: isCounted)
            }
        }
    }

    /// Sends a message, in several frames where its fields are long.
    ///
    /// - Returns: false where the other side is gone or does not read, or the message is too long.
    package func sendMessage(
        _ kind: FrameHeader.Kind, number: UInt32, _ fields: [UInt8], _ secrets: borrowing Secret
    ) -> Bool {
        guard fields.count <= FrameSocket.maximumFields, secrets.count <= FrameHeader.maximumSecrets else {
            return false
        }
        var rest = fields[...]
        while rest.count > FrameHeader.maximumFields {
            let part = Array(rest.prefix(FrameHeader.maximumFields))
            guard send(.part, number: number, part, Secret(capacity: 0) { _ in }) else { return false }
            rest = rest.dropFirst(part.count)
        }
        return send(kind, number: number, Array(rest), secrets)
    }
}
