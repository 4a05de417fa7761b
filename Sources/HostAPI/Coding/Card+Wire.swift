internal import KeychainModel
internal import SecureBytes
internal import Wire

extension CardOverview.Parts: WireOptions {}
extension CardSettings.Parts: WireOptions {}

extension CardDriver: WireRecord {
    static let fields = Fields(
        CardDriver.init(_:isDisabled:keyNames:dataObjects:), \.name, \.isDisabled, \.keyNames, \.dataObjects)
}

extension CardDataObject: WireRecord {
    static let fields = Fields(CardDataObject.init(_:label:tag:needsPIN:), \.name, \.label, \.tag, \.needsPIN)
}

extension CardDataContent: WireRecord {
    static let fields = Fields({ CardDataContent($1, of: $0, facts: $2) }, \.object, \.bytes, \.facts)
}

/// A result is written as whether it is one, and the value or the error.
extension Result: WireValue where Success: WireValue, Failure == KeychainError {
    func write(to message: inout MessageWriter) {
        switch self {
        case .success(let value): message.write(true, value)
        case .failure(let error): message.write(false, error)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self = try message.flag() ? .success(try message.value()) : .failure(try message.value())
    }
}

extension CardFact.Plain: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .text(let text): message.write(case: 1, text)
        case .number(let number): message.write(case: 2, number)
        case .list(let words): message.write(case: 3, words)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.text)
        // Not a count: it may be negative.
        case 2: self = .number(Int(try message.value(Int64.self)))
        case 3: self = try message.read(Self.list)
        default: throw .malformed
        }
    }
}

extension CardFact: WireRecord {
    static let fields = Fields(CardFact.init(_:_:parts:), \.name, \.value, \.parts)
}

extension CardAttestation: WireRecord {
    static let fields = Fields(
        CardAttestation.init(publicKey:slot:pinPolicy:touchPolicy:facts:),
        \.publicKey, \.slot, \.pinPolicy, \.touchPolicy, \.facts)
}

extension CardPIN: WireRecord {
    static let fields = Fields(
        CardPIN.init(triesLeft:maximumTries:isDefault:), \.triesLeft, \.maximumTries, \.isDefault)
}

extension PINPolicy: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .never: message.write(case: 1)
        case .once: message.write(case: 2)
        case .always: message.write(case: 3)
        case .other(let number): message.write(case: 4, number)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .never
        case 2: self = .once
        case 3: self = .always
        case 4: self = try message.read(Self.other)
        default: throw .malformed
        }
    }
}

extension TouchPolicy: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(self != .unknown)
        switch self {
        case .unknown: break
        case .never: message.write(case: 1)
        case .always: message.write(case: 2)
        case .cached: message.write(case: 3)
        case .other(let number): message.write(case: 4, number)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        guard try message.value(Bool.self) else {
            self = .unknown
            return
        }
        switch try message.value(UInt8.self) {
        case 1: self = .never
        case 2: self = .always
        case 3: self = .cached
        case 4: self = try message.read(Self.other)
        default: throw .malformed
        }
    }
}

extension CardSlot.Key: WireRecord {
    static let fields = Fields(
        CardSlot.Key.init(publicKey:pinPolicy:touchPolicy:), \.publicKey, \.pinPolicy, \.touchPolicy)
}

extension CardSlot: WireRecord {
    static let fields = Fields(CardSlot.init(_:label:key:certificate:), \.name, \.label, \.key, \.certificate)
}

extension CardOverview: WireRecord {
    static let fields = Fields(
        CardOverview.init, \.card, setting: \.facts, \.slots, \.failures, \.pin, \.unblockingKey)
}

extension CardSettings: WireRecord {
    static let fields = Fields(
        CardSettings.init(pinTimeout:provesBeforePIN:disabledDrivers:),
        \.pinTimeout, \.provesBeforePIN, \.disabledDrivers)
}

extension CardSettings.Change: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .pinTimeout(let seconds): message.write(case: 1, seconds)
        case .provesBeforePIN(let proves): message.write(case: 2, proves)
        case .driver(let name, let isDisabled): message.write(case: 3, name, isDisabled)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.pinTimeout)
        case 2: self = try message.read(Self.provesBeforePIN)
        case 3: self = try message.read(Self.driver)
        default: throw .malformed
        }
    }
}
