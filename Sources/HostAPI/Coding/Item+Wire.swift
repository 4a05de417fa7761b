internal import KeychainModel
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
        case .string(let text): message.write(case: 1, text)
        case .data(let bytes): message.write(case: 2, bytes)
        case .number(let number): message.write(case: 3, number)
        case .bool(let flag): message.write(case: 4, flag)
        case .date(let seconds): message.write(case: 5, seconds)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.string)
        case 2: self = try message.read(Self.data)
        case 3: self = try message.read(Self.number)
        case 4: self = try message.read(Self.bool)
        case 5: self = try message.read(Self.date)
        default: throw .malformed
        }
    }
}

extension Item: WireRecord {
    static let fields = Fields(
        Item.init(_:attributes:keychain:reference:der:),
        \.itemClass, \.attributes, \.keychain, \.reference, \.der, setting: \.tokenTraits)
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
        { KeychainError($0, $1, remedy: $2, key: $3, triesLeft: $4, failure: $5) },
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
