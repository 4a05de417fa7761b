internal import CryptokiNames
internal import KeychainModel
internal import SystemCrypto
internal import Wire

extension CryptokiSlotName: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(description)
        message.write(manufacturer)
        message.write(UInt64(number))
    }

    init(from message: inout MessageReader) throws(WireError) {
        let (description, manufacturer) = (try message.text(), try message.text())
        guard let number = UInt(exactly: try message.number()) else { throw .malformed }
        self.init(description: description, manufacturer: manufacturer, number: number)
        guard self.description == description, self.manufacturer == manufacturer else { throw .malformed }
    }
}

extension CryptokiTokenName: WireValue {
    func write(to message: inout MessageWriter) {
        for text in [label, manufacturer, model, serialNumber] { message.write(text) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        let texts = [try message.text(), try message.text(), try message.text(), try message.text()]
        self.init(label: texts[0], manufacturer: texts[1], model: texts[2], serialNumber: texts[3])
        guard [label, manufacturer, model, serialNumber] == texts else { throw .malformed }
    }
}

extension TokenPlace.Occupancy: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(hasToken)
        message.write(changeCount)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(hasToken: try message.flag(), changeCount: try message.integer())
    }
}

extension TokenPlace: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(kind)
        message.write(location)
        message.write(name)
        message.write(slotName)
        message.write(occupancy)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(), at: try message.text(), name: try message.text(), slotName: try message.value(),
            occupancy: try message.value())
    }
}

extension TokenFacts: WireValue {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.byte())
        guard isSubset(of: .all) else { throw .malformed }
    }
}

extension TokenDescription: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(generation)
        message.write(login) { $1.write($0) }
        message.write(version) { $1.write(Int($0)) }
        message.write(name)
        message.write(pin)
        message.write(keyLimits)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            generation: try message.integer(),
            login: try message.optional { (message) throws(WireError) in try message.integer() })
        version = try message.optional { (message) throws(WireError) in Int64(try message.integer()) }
        name = try message.optional()
        pin = try message.optional()
        keyLimits = try message.optional()
    }
}

extension TokenPIN: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(isReadOnly)
        message.write(needsLogin)
        message.write(canAsk)
        message.write(triesLeft) { $1.write($0) }
        message.write(maximumTries) { $1.write($0) }
        message.write(lengths)
        message.write(version) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            isReadOnly: try message.flag(), needsLogin: try message.flag(), canAsk: try message.flag(),
            triesLeft: try message.optional { (message) throws(WireError) in try message.count() },
            maximumTries: try message.optional { (message) throws(WireError) in try message.count() },
            lengths: try message.range(), version: try message.optionalText())
    }
}

extension TokenKeyLimits: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(rsa)
        message.write(curves)
        message.write(hasCurve25519)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(rsa: try message.range(), curves: try message.range(), hasCurve25519: try message.flag())
    }
}

extension TokenItemSelection: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(kinds.rawValue)
        message.write(cryptokiID) { $1.write($0) }
        message.write(reference)
        switch data {
        case .none: message.write(1 as UInt8)
        case .possible: message.write(2 as UInt8)
        case .known: message.write(3 as UInt8)
        case .among(let references):
            message.write(4 as UInt8)
            message.write(references)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            Kinds(rawValue: try message.byte()),
            cryptokiID: try message.optional { (message) throws(WireError) in try message.bytes() },
            reference: try message.optional())
        guard kinds.isSubset(of: .all) else { throw .malformed }
        switch try message.byte() {
        case 1: data = .none
        case 2: data = .possible
        case 3: data = .known
        case 4: data = .among(try message.value())
        default: throw .malformed
        }
    }
}

/// A range of counts is written as its bounds.
extension MessageWriter {
    fileprivate mutating func write(_ range: ClosedRange<Int>) {
        write(range.lowerBound)
        write(range.upperBound)
    }
}

extension MessageReader {
    fileprivate mutating func range() throws(WireError) -> ClosedRange<Int> {
        let (lower, upper) = (try count(), try count())
        guard lower <= upper else { throw .malformed }
        return lower...upper
    }
}
