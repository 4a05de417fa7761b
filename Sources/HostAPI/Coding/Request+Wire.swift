internal import SystemCrypto
internal import KeychainModel
internal import SecureBytes
internal import Wire

extension CardAdministration: WireValue {}
extension RequestContext.Questions: WireValue {}
extension CredentialKind: WireValue {}

extension RequestContext.Credential: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(kind)
        message.write(secret)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), try message.secret())
    }
}

extension RequestContext: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(number) { $1.write($0.rawValue) }
        message.write(purpose) { $1.write($0) }
        message.write(questions)
        message.write(credentials)
        message.write(authentication) { $1.write($0.rawValue) }
        message.write(mayUseLastTry)
        message.write(timeLimit)
        message.write(place) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            number: try message.optional { (message) throws(WireError) in RequestNumber(rawValue: try message.number())
            },
            purpose: try message.optionalText(),
            questions: try message.value(), credentials: try message.value(),
            authentication: try message.optional { (message) throws(WireError) in
                AuthenticationNumber(rawValue: try message.number())
            },
            mayUseLastTry: try message.flag(),
            timeLimit: try message.optional(), place: try message.optionalText())
        guard Set(credentials.map(\.kind)).count == credentials.count else { throw .malformed }
    }
}

/// A duration is written in milliseconds.
extension Duration: WireValue {
    /// The longest duration that is accepted, in milliseconds: a year.
    private static let longest: UInt64 = 366 * 24 * 3600 * 1000

    func write(to message: inout MessageWriter) {
        message.write(UInt64(clamping: Int64(self / .milliseconds(1))))
    }

    init(from message: inout MessageReader) throws(WireError) {
        let milliseconds = try message.number()
        guard milliseconds <= Self.longest else { throw .malformed }
        self = .milliseconds(milliseconds)
    }
}

extension Addition: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(itemClass)
        message.write(attributes)
        message.write(der) { $1.write($0) }
        message.write(secret) { $1.write($0) }
        message.write(keychain)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(), try message.attributes(),
            der: try message.optional { (message) throws(WireError) in try message.bytes() },
            secret: try message.optionalSecret(),
            to: try message.optional())
    }
}

extension IdentityAddition.Key: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .new(let key):
            message.write(1 as UInt8)
            message.write(key)
        case .existing(let reference):
            message.write(2 as UInt8)
            message.write(reference)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .new(try message.secret())
        case 2: self = .existing(try message.value())
        default: throw .malformed
        }
    }
}

extension IdentityAddition: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(certificate)
        message.write(key)
        message.write(attributes)
        message.write(keychain)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            certificate: try message.bytes(), key: try message.value(), try message.attributes(),
            to: try message.optional())
    }
}

extension ChangeStep: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .add(let addition):
            message.write(1 as UInt8)
            message.write(addition)
        case .update(let query, let attributes, let secret):
            message.write(2 as UInt8)
            message.write(query)
            message.write(attributes)
            message.write(secret) { $1.write($0) }
        case .delete(let query):
            message.write(3 as UInt8)
            message.write(query)
        case .addIdentity(let addition):
            message.write(4 as UInt8)
            message.write(addition)
        case .copy(let reference, let attributes, let keychain):
            message.write(5 as UInt8)
            message.write(reference)
            message.write(attributes)
            message.write(keychain)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .add(try message.value())
        case 2:
            self = .update(
                try message.value(), try message.attributes(),
                secret: try message.optionalSecret())
        case 3: self = .delete(try message.value())
        case 4: self = .addIdentity(try message.value())
        case 5: self = .copy(try message.value(), try message.attributes(), to: try message.optional())
        default: throw .malformed
        }
    }
}

extension EventTopic: WireValue {}

extension EventPosition: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(subscription)
        message.write(number)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(subscription: try message.number(), number: try message.number())
    }
}

/// A domain is written by its name.
extension PreferencesDomain: WireValue {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        guard let domain = PreferencesDomain(rawValue: try message.text()) else { throw .malformed }
        self = domain
    }
}

extension KeychainChoice.Change: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .searchList(let paths):
            message.write(1 as UInt8)
            message.write(paths) { $1.write($0) }
        case .defaultKeychain(let path):
            message.write(2 as UInt8)
            message.write(path) { $1.write($0) }
        case .loginKeychain(let path):
            message.write(3 as UInt8)
            message.write(path) { $1.write($0) }
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .searchList(try message.texts())
        case 2: self = .defaultKeychain(try message.optionalText())
        case 3: self = .loginKeychain(try message.optionalText())
        default: throw .malformed
        }
    }
}
