internal import KeychainModel
internal import Wire

extension Vouching: WireValue {}

extension KeyQuery: WireRecord {
    static let fields = Fields(KeyQuery.init(_:in:), \.selector, \.places)
}

extension KeyQuery.Places: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .keychains(let keychains): message.write(case: 1, keychains)
        case .absentTokens: message.write(case: 2)
        case .knownTokens: message.write(case: 3)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.keychains)
        case 2: self = .absentTokens
        case 3: self = .knownTokens
        default: throw .malformed
        }
    }
}

extension KeySelector: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .name(let name): message.write(case: 1, name)
        case .signer(let name): message.write(case: 2, name)
        case .label(let label): message.write(case: 3, label)
        case .publicKeyHash(let hash): message.write(case: 4, hash)
        case .reference(let reference): message.write(case: 5, reference)
        case .cryptokiID(let id): message.write(case: 6, id)
        case .any: message.write(case: 7)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.name)
        case 2: self = try message.read(Self.signer)
        case 3: self = try message.read(Self.label)
        case 4: self = try message.read(Self.publicKeyHash)
        case 5: self = try message.read(Self.reference)
        case 6: self = try message.read(Self.cryptokiID)
        case 7: self = .any
        default: throw .malformed
        }
    }
}

extension KeyDescription: WireRecord {
    static let fields = Fields(
        KeyDescription.init(_:keychainName:slotName:), \.item, \.keychainName, \.slotName)
}
