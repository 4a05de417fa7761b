internal import KeychainModel
package import SecureBytes
package import Wire

extension PromptRequest.Purpose: WireValue {}

extension PromptRequest.Form: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(lengths.lowerBound)
        message.write(lengths.upperBound)
        message.write(onlyDigits)
    }

    init(from message: inout MessageReader) throws(WireError) {
        let (shortest, longest) = (try message.integer(), try message.integer())
        guard shortest >= 0, shortest <= longest else { throw .malformed }
        self.init(lengths: shortest...longest, onlyDigits: try message.flag())
    }
}

extension PromptRequest: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(purpose)
        message.write(subject)
        message.write(use) { $1.write($0) }
        message.write(triesLeft) { $1.write($0) }
        message.write(failure) { $1.write($0) }
        message.write(form)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(), subject: try message.text(),
            use: try message.optional { (message) throws(WireError) in try message.text() },
            triesLeft: try message.optional { (message) throws(WireError) in try message.integer() },
            failure: try message.optional { (message) throws(WireError) in try message.text() },
            form: try message.optional())
    }
}

extension PromptAbilities: WireValue {
    func write(to message: inout MessageWriter) {
        for flag in [canAsk, canAskAgain, canConfirm, allowsPINPad] { message.write(flag) }
        message.write(alternative)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            canAsk: try message.flag(), canAskAgain: try message.flag(), canConfirm: try message.flag(),
            allowsPINPad: try message.flag(), alternative: try message.text())
    }
}

extension HostQuestion: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .secret(let request):
            message.write(1 as UInt8)
            message.write(request)
        case .consent(let text):
            message.write(2 as UInt8)
            message.write(text)
        case .notice(let text):
            message.write(3 as UInt8)
            message.write(text)
        case .anotherSecret(let request):
            message.write(4 as UInt8)
            message.write(request)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .secret(try message.value())
        case 2: self = .consent(try message.text())
        case 3: self = .notice(try message.text())
        case 4: self = .anotherSecret(try message.value())
        default: throw .malformed
        }
    }
}

extension HostReply: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .secret(let secret):
            message.write(1 as UInt8)
            message.write(secret)
        case .consent(let agrees):
            message.write(2 as UInt8)
            message.write(agrees)
        case .shown: message.write(3 as UInt8)
        case .failed(let error):
            message.write(4 as UInt8)
            message.write(error)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .secret(try message.secret())
        case 2: self = .consent(try message.flag())
        case 3: self = .shown
        case 4: self = .failed(try message.value())
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
