internal import KeychainModel
internal import Wire

extension ItemClass: WireValue {}
extension KeychainIdentifier: WireValue {}
extension CertificatePolicy: WireValue {}
extension SubjectMatch.Part: WireValue {}
extension Missing.Kind: WireValue {}
extension Missing.Place: WireValue {}

extension PersistentReference: WireValue {
    func write(to message: inout MessageWriter) { message.write(encoded()) }

    init(from message: inout MessageReader) throws(WireError) {
        let bytes = try message.bytes()
        guard let reference = try? PersistentReference(parsing: bytes), reference.encoded() == bytes else {
            throw .malformed
        }
        self = reference
    }
}

extension AttributeValue: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .string(let text):
            message.write(1 as UInt8)
            message.write(text)
        case .data(let bytes):
            message.write(2 as UInt8)
            message.write(bytes)
        case .number(let number):
            message.write(3 as UInt8)
            message.write(UInt64(bitPattern: number))
        case .bool(let flag):
            message.write(4 as UInt8)
            message.write(flag)
        case .date(let seconds):
            message.write(5 as UInt8)
            message.write(UInt64(bitPattern: seconds))
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .string(try message.text())
        case 2: self = .data(try message.bytes())
        case 3: self = .number(Int64(bitPattern: try message.number()))
        case 4: self = .bool(try message.flag())
        case 5: self = .date(Int64(bitPattern: try message.number()))
        default: throw .malformed
        }
    }
}

/// Attributes are written in the order of their codes, each once.
extension MessageWriter {
    mutating func write(_ attributes: Attributes) {
        write(attributes.sorted { $0.key < $1.key }) { entry, message in
            message.write(entry.key.rawValue)
            message.write(entry.value)
        }
    }
}

extension MessageReader {
    mutating func attributes() throws(WireError) -> Attributes {
        var attributes: Attributes = [:]
        var last: Attribute?
        let entries = try values { (message) throws(WireError) in
            (Attribute(rawValue: try message.text()), try message.value(AttributeValue.self))
        }
        for (attribute, value) in entries {
            guard last.map({ $0 < attribute }) ?? true else { throw .malformed }
            attributes[attribute] = value
            last = attribute
        }
        return attributes
    }
}

extension Item: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(itemClass)
        message.write(attributes)
        message.write(keychain)
        message.write(reference)
        message.write(der) { $1.write($0) }
        message.write(tokenTraits)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.value(), attributes: try message.attributes(), keychain: try message.value(),
            reference: try message.value(),
            der: try message.optional { (message) throws(WireError) in try message.bytes() })
        tokenTraits = try message.optional()
    }
}

extension TokenTraits.PINUse: WireValue {}
extension TokenTraits.TouchUse: WireValue {}

extension TokenTraits: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(cryptokiID) { $1.write($0) }
        message.write(pinUse)
        message.write(touchUse)
        message.write(publicLabel) { $1.write($0) }
        message.write(objectIdentifier)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            cryptokiID: try message.optional { (message) throws(WireError) in try message.bytes() },
            pinUse: try message.value(), touchUse: try message.value(),
            publicLabel: try message.optionalText(), objectIdentifier: try message.bytes())
    }
}

extension Identity: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(certificate)
        message.write(key)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(certificate: try message.value(), key: try message.value())
    }
}

extension TokenFailure: WireValue {}

extension KeychainError: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(Int(code.rawValue))
        message.write(reason)
        message.write(remedy) { $1.write($0) }
        message.write(key) { $1.write($0) }
        message.write(triesLeft) { $1.write($0) }
        message.write(failure)
    }

    init(from message: inout MessageReader) throws(WireError) {
        guard let code = Int32(exactly: try message.integer()) else { throw .malformed }
        self.init(
            ErrSec(rawValue: code), try message.text(),
            remedy: try message.optional { (message) throws(WireError) in try message.text() },
            key: try message.optional { (message) throws(WireError) in try message.text() },
            triesLeft: try message.optional { (message) throws(WireError) in try message.integer() },
            failure: try message.optional())
    }
}

extension Missing: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(kind)
        message.write(place)
        message.write(keychain)
        message.write(error)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), in: try message.value(), of: try message.text(), try message.value())
    }
}

extension Outcome: WireValue where Found: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(found)
        message.write(missing)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), missing: try message.value())
    }
}

extension KeychainEvent: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(kind.rawValue)
        message.write(keychain)
        message.write(location) { $1.write($0) }
        message.write(item)
        message.write(process) { $1.write(Int($0)) }
        message.write(label) { $1.write($0) }
        message.write(reason) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        guard let kind = Kind(rawValue: try message.integer()) else { throw .malformed }
        self.init(
            kind, keychain: try message.optional(),
            location: try message.optional { (message) throws(WireError) in try message.text() },
            item: try message.optional(),
            process: try message.optional { (message) throws(WireError) in
                guard let process = Int32(exactly: try message.integer()) else { throw .malformed }
                return process
            }, label: try message.optionalText(), reason: try message.optionalText())
    }
}
