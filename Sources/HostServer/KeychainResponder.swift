internal import KeychainBridge
internal import KeychainModel
internal import SecureBytes
internal import Wire
internal import WireTransport

/// Answers the calls of the C library.
struct KeychainResponder: Responder {
    private let bridge: KeychainBridge

    init(_ bridge: KeychainBridge) {
        self.bridge = bridge
    }

    var maximumFields: Int { FrameSocket.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
        let number = message.number
        guard message.kind == .request, let call = try? KeychainCall(parsing: message.fields) else { return false }
        line.begin(number)
        let result = bridge.result(of: call, secrets: message.takeSecrets())
        line.end()
        return line.connection.send(result, number)
    }

    func end() { bridge.end() }
}

/// Answers each call of a client with the reason why it cannot be served.
struct RefusingKeychainResponder: Responder {
    let reason: KeychainError

    var maximumFields: Int { FrameSocket.maximumFields }

    func answer(_ message: consuming FrameSocket.Message, over line: RequestLine) -> Bool {
        let number = message.number
        guard message.kind == .request else { return false }
        return line.connection.send(KeychainResult(failing: reason), number)
    }

    func end() {}
}

extension FrameSocket {
    /// Sends an answer, or the reason why it cannot be sent.
    fileprivate func send(_ result: consuming KeychainResult, _ number: UInt32) -> Bool {
        let fields = result.answer.encoded()
        let secrets = result.takeSecrets()
        if fields.count <= FrameSocket.maximumFields, secrets.count <= FrameHeader.maximumSecrets {
            return sendMessage(.answer, number: number, fields, secrets)
        }
        let failure = KeychainResult(failing: KeychainError(.dataTooLarge)).answer.encoded()
        return sendMessage(.answer, number: number, failure, Secret(capacity: 0) { _ in })
    }
}
