internal import KeychainModel
package import SecureBytes
package import Wire

extension PromptRequest.Purpose: WireValue {}

extension PromptRequest.Form: WireRecord {
    static let fields = Fields(PromptRequest.Form.init(lengths:onlyDigits:), \.lengths, \.onlyDigits)
}

extension PromptRequest: WireRecord {
    static let fields = Fields(
        PromptRequest.init(_:subject:use:triesLeft:failure:form:),
        \.purpose, \.subject, \.use, \.triesLeft, \.failure, \.form)
}

extension PromptAbilities: WireRecord {
    static let fields = Fields(
        PromptAbilities.init(canAsk:canAskAgain:canConfirm:allowsPINPad:alternative:),
        \.canAsk, \.canAskAgain, \.canConfirm, \.allowsPINPad, \.alternative)
}

extension HostQuestion: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .secret(let request): message.write(case: 1, request)
        case .consent(let text): message.write(case: 2, text)
        case .abilities: message.write(case: 3)
        case .anotherSecret(let request): message.write(case: 4, request)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.secret)
        case 2: self = try message.read(Self.consent)
        case 3: self = .abilities
        case 4: self = try message.read(Self.anotherSecret)
        default: throw .malformed
        }
    }
}

extension HostReply: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .secret(let secret): message.write(case: 1, secret)
        case .consent(let agrees): message.write(case: 2, agrees)
        case .abilities(let abilities): message.write(case: 3, abilities)
        case .failed(let error): message.write(case: 4, error)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.secret)
        case 2: self = try message.read(Self.consent)
        case 3: self = try message.read(Self.abilities)
        case 4: self = try message.read(Self.failed)
        default: throw .malformed
        }
    }
}

extension HostNotice: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .remark(let text): message.write(case: 1, text)
        case .message(let text, let number): message.write(case: 2, text, number)
        case .wait(let reader, let number): message.write(case: 3, reader, number)
        case .over(let number): message.write(case: 4, number)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.remark)
        case 2: self = try message.read(Self.message)
        case 3: self = try message.read(Self.wait)
        case 4: self = try message.read(Self.over)
        default: throw .malformed
        }
    }
}

extension HostQuestion {
    /// The question of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the question.
    package func message() -> MessageWriter { wholeMessage }
}

extension HostNotice {
    /// The notice of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the notice.
    package func message() -> MessageWriter { wholeMessage }
}

extension HostReply {
    /// The reply of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the reply.
    package func message() -> MessageWriter { wholeMessage }
}

extension PromptAbilities {
    /// The abilities of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the abilities.
    package func message() -> MessageWriter { wholeMessage }
}
