internal import KeychainModel
internal import SecureBytes
internal import Wire

extension CardDriver: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(name)
        message.write(isDisabled)
        message.write(keyNames) { $1.write($0) }
        message.write(dataObjects)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.text(), isDisabled: try message.flag(), keyNames: try message.texts(),
            dataObjects: try message.value())
    }
}

extension CardDataObject: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(name)
        message.write(label)
        message.write(tag) { $1.write($0) }
        message.write(needsPIN)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.text(), label: try message.text(), tag: try message.optionalText(),
            needsPIN: try message.flag())
    }
}

extension CardDataContent: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(object)
        message.write(bytes)
        message.write(facts)
    }

    init(from message: inout MessageReader) throws(WireError) {
        let object = try message.value(CardDataObject.self)
        self.init(try message.secret(), of: object, facts: try message.value())
    }
}

/// A result is written as whether it is one, and the value or the error.
extension Result: WireValue where Success: WireValue, Failure == KeychainError {
    func write(to message: inout MessageWriter) {
        switch self {
        case .success(let value):
            message.write(true)
            message.write(value)
        case .failure(let error):
            message.write(false)
            message.write(error)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self = try message.flag() ? .success(try message.value()) : .failure(try message.value())
    }
}

extension CardFact.Plain: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .text(let text):
            message.write(1 as UInt8)
            message.write(text)
        case .number(let number):
            message.write(2 as UInt8)
            message.write(number)
        case .list(let words):
            message.write(3 as UInt8)
            message.write(words) { $1.write($0) }
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .text(try message.text())
        case 2: self = .number(try message.integer())
        case 3: self = .list(try message.texts())
        default: throw .malformed
        }
    }
}

/// The parts of a fact are written in the order of their keys.
extension CardFact: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(name)
        message.write(value)
        message.write(parts.sorted { $0.key < $1.key }) { part, message in
            message.write(part.key)
            message.write(part.value)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        let (name, value) = (try message.text(), try message.text())
        let entries = try message.values { (message) throws(WireError) in
            (key: try message.text(), value: try message.value(Plain.self))
        }
        guard zip(entries, entries.dropFirst()).allSatisfy({ $0.key < $1.key }) else { throw .malformed }
        self.init(name, value, parts: Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) }))
    }
}

extension CardPIN: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(triesLeft) { $1.write($0) }
        message.write(maximumTries) { $1.write($0) }
        message.write(isDefault) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            triesLeft: try message.optional { (message) throws(WireError) in try message.count() },
            maximumTries: try message.optional { (message) throws(WireError) in try message.count() },
            isDefault: try message.optionalFlag())
    }
}

extension CardSlot.PINPolicy: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .never: message.write(1 as UInt8)
        case .once: message.write(2 as UInt8)
        case .always: message.write(3 as UInt8)
        case .other(let number):
            message.write(4 as UInt8)
            message.write(number)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .never
        case 2: self = .once
        case 3: self = .always
        case 4: self = .other(try message.byte())
        default: throw .malformed
        }
    }
}

extension CardSlot.TouchPolicy: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .never: message.write(1 as UInt8)
        case .always: message.write(2 as UInt8)
        case .cached: message.write(3 as UInt8)
        case .other(let number):
            message.write(4 as UInt8)
            message.write(number)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .never
        case 2: self = .always
        case 3: self = .cached
        case 4: self = .other(try message.byte())
        default: throw .malformed
        }
    }
}

extension CardSlot.Key: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(publicKey)
        message.write(pinPolicy)
        message.write(touchPolicy)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            publicKey: try message.bytes(), pinPolicy: try message.value(), touchPolicy: try message.optional())
    }
}

extension CardSlot: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(name)
        message.write(label)
        message.write(key)
        message.write(certificate) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.text(), label: try message.text(), key: try message.optional(),
            certificate: try message.optional { (message) throws(WireError) in try message.bytes() })
    }
}

extension CardOverview.Parts: WireValue {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.byte())
        guard isSubset(of: .all) else { throw .malformed }
    }
}

extension CardOverview: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(card)
        message.write(facts)
        message.write(slots)
        message.write(failures)
        message.write(pin)
        message.write(unblockingKey)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value())
        facts = try message.value()
        slots = try message.value()
        failures = try message.value()
        pin = try message.optional()
        unblockingKey = try message.optional()
    }
}

extension CardSettings.Parts: WireValue {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.byte())
        guard isSubset(of: .all) else { throw .malformed }
    }
}

extension CardSettings: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(pinTimeout) { $1.write(UInt64($0)) }
        message.write(provesBeforePIN) { $1.write($0) }
        message.write(disabledDrivers) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            pinTimeout: try message.optionalNumber32(), provesBeforePIN: try message.optionalFlag(),
            disabledDrivers: try message.texts())
    }
}

extension CardSettings.Change: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .pinTimeout(let seconds):
            message.write(1 as UInt8)
            message.write(seconds) { $1.write(UInt64($0)) }
        case .provesBeforePIN(let proves):
            message.write(2 as UInt8)
            message.write(proves) { $1.write($0) }
        case .driver(let name, let isDisabled):
            message.write(3 as UInt8)
            message.write(name)
            message.write(isDisabled)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .pinTimeout(try message.optionalNumber32())
        case 2: self = .provesBeforePIN(try message.optionalFlag())
        case 3: self = .driver(try message.text(), isDisabled: try message.flag())
        default: throw .malformed
        }
    }
}

extension MessageReader {
    fileprivate mutating func optionalFlag() throws(WireError) -> Bool? {
        try optional { (message) throws(WireError) in try message.flag() }
    }
}
