internal import KeychainModel
internal import SecureBytes
internal import Wire

extension AuthenticationNumber: WireValue {}
extension CredentialKind: WireValue {}
extension EventTopic: WireValue {}
extension PreferencesDomain: WireValue {}
extension RequestContext.Questions: WireValue {}
extension RequestNumber: WireValue {}

extension RequestContext.Credential: WireRecord {
    static let fields = Fields({ RequestContext.Credential($0, $1) }, \.kind, \.secret)
}

/// Written and read without ``Fields``, since each request has one.
extension RequestContext: WireValue {
    func write(to message: inout MessageWriter) {
        number.write(to: &message)
        purpose.write(to: &message)
        questions.write(to: &message)
        credentials.write(to: &message)
        authentication.write(to: &message)
        message.append(mayUseLastTry)
        timeLimit.write(to: &message)
        place.write(to: &message)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            number: try RequestNumber?(from: &message), purpose: try String?(from: &message),
            questions: try Questions(from: &message), credentials: try [Credential](from: &message),
            authentication: try AuthenticationNumber?(from: &message), mayUseLastTry: try message.flag(),
            timeLimit: try Duration?(from: &message), place: try String?(from: &message))
        guard credentials.isEmpty || Set(credentials.map(\.kind)).count == credentials.count else { throw .malformed }
    }
}

extension Addition: WireRecord {
    static let fields = Fields(
        Addition.init(_:_:der:secret:to:), \.itemClass, \.attributes, \.der, \.secret, \.keychain)
}

extension IdentityAddition.Key: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .new(let key): message.write(case: 1, key)
        case .existing(let reference): message.write(case: 2, reference)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.new)
        case 2: self = try message.read(Self.existing)
        default: throw .malformed
        }
    }
}

extension IdentityAddition: WireRecord {
    static let fields = Fields(
        IdentityAddition.init(certificate:key:_:to:), \.certificate, \.key, \.attributes, \.keychain)
}

extension ChangeStep: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .add(let addition): message.write(case: 1, addition)
        case .update(let query, let attributes, let secret): message.write(case: 2, query, attributes, secret)
        case .delete(let query): message.write(case: 3, query)
        case .addIdentity(let addition): message.write(case: 4, addition)
        case .copy(let reference, let attributes, let keychain): message.write(case: 5, reference, attributes, keychain)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.add)
        case 2: self = try message.read(Self.update)
        case 3: self = try message.read(Self.delete)
        case 4: self = try message.read(Self.addIdentity)
        case 5: self = try message.read(Self.copy)
        default: throw .malformed
        }
    }
}

extension EventPosition: WireRecord {
    static let fields = Fields(EventPosition.init(subscription:number:), \.subscription, \.number)
}

extension KeychainChoice.Change: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .searchList(let paths): message.write(case: 1, paths)
        case .defaultKeychain(let path): message.write(case: 2, path)
        case .loginKeychain(let path): message.write(case: 3, path)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.searchList)
        case 2: self = try message.read(Self.defaultKeychain)
        case 3: self = try message.read(Self.loginKeychain)
        default: throw .malformed
        }
    }
}
