internal import KeychainModel
internal import Localization
internal import Wire

extension ItemClass: WireValue {}
extension KeychainIdentifier: WireValue {}
extension CertificatePolicy: WireValue {}
extension SubjectMatch.Part: WireValue {}
extension ErrSec: WireValue {}
extension TokenFailure: WireValue {}
extension TokenTraits.PINUse: WireValue {}
extension TokenTraits.TouchUse: WireValue {}
extension Missing.Kind: WireValue {}
extension Missing.Place: WireValue {}
extension KeychainEvent.Kind: WireValue {}

extension PersistentReference: WireValue {
    func write(to message: inout MessageWriter) { message.append(encoded()) }

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
            message.append(1)
            message.append(text)
        case .data(let bytes):
            message.append(2)
            message.append(bytes)
        case .number(let number):
            message.append(3)
            message.append(UInt64(bitPattern: number))
        case .bool(let flag):
            message.append(4)
            message.append(flag)
        case .date(let seconds):
            message.append(5)
            message.append(UInt64(bitPattern: seconds))
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.number() {
        case 1: self = .string(try message.text())
        case 2: self = .data(try message.bytes())
        case 3: self = .number(Int64(bitPattern: try message.number()))
        case 4: self = .bool(try message.flag())
        case 5: self = .date(Int64(bitPattern: try message.number()))
        default: throw .malformed
        }
    }
}

/// Written and read without ``Fields``, whose generic code takes several times as long: an answer may have thousands of items.
extension Item: WireValue {
    func write(to message: inout MessageWriter) {
        message.append(itemClass.rawValue)
        message.append(attributes)
        message.append(keychain.rawValue)
        message.append(reference.encoded())
        der.write(to: &message)
        tokenTraits.write(to: &message)
    }

    init(from message: inout MessageReader) throws(WireError) {
        guard let itemClass = ItemClass(rawValue: try message.text()) else { throw .malformed }
        let attributes = try message.attributes()
        self.init(
            itemClass, attributes: attributes, keychain: KeychainIdentifier(rawValue: try message.text()),
            reference: try PersistentReference(from: &message), der: try [UInt8]?(from: &message))
        tokenTraits = try TokenTraits?(from: &message)
    }
}

// Attributes have the form of any dictionary, by code that is made for them.
extension MessageWriter {
    mutating func append(_ attributes: Attributes) {
        append(count: attributes.count)
        for (attribute, value) in attributes.sorted(by: { $0.key < $1.key }) {
            append(attribute.rawValue)
            value.write(to: &self)
        }
    }
}

extension MessageReader {
    /// The room that is made for attributes before they are read: no more than a real item has, whatever a message announces.
    private static let usualAttributeCount = 24

    mutating func attributes() throws(WireError) -> Attributes {
        let count = try count()
        var attributes = Attributes(minimumCapacity: min(count, MessageReader.usualAttributeCount))
        var last: Attribute?
        for _ in 0..<count {
            let attribute = Attribute(rawValue: try text())
            if let last, !(last < attribute) { throw .malformed }
            attributes[attribute] = try AttributeValue(from: &self)
            last = attribute
        }
        return attributes
    }
}

extension TokenTraits: WireRecord {
    static let fields = Fields(
        TokenTraits.init(cryptokiID:pinUse:touchUse:publicLabel:objectIdentifier:),
        \.cryptokiID, \.pinUse, \.touchUse, \.publicLabel, \.objectIdentifier)
}

extension Identity: WireRecord {
    static let fields = Fields(Identity.init(certificate:key:), \.certificate, \.key)
}

extension KeychainError: WireRecord {
    static let fields = Fields(
        { (code, reason: String, remedy: String?, key, triesLeft, failure) in
            KeychainError(
                code, LocalizedText(verbatim: reason), remedy: remedy.map { LocalizedText(verbatim: $0) }, key: key,
                triesLeft: triesLeft, failure: failure)
        },
        \.code, \.reason, \.remedy, \.key, \.triesLeft, \.failure)
}

extension Missing: WireRecord {
    static let fields = Fields(Missing.init(_:in:of:_:), \.kind, \.place, \.keychain, \.error)
}

extension Outcome: WireValue where Found: WireValue {
    func write(to message: inout MessageWriter) { message.write(found, missing) }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), missing: try message.value())
    }
}

extension KeychainEvent: WireRecord {
    static let fields = Fields(
        KeychainEvent.init(_:keychain:location:item:process:label:reason:),
        \.kind, \.keychain, \.location, \.item, \.process, \.label, \.reason)
}
