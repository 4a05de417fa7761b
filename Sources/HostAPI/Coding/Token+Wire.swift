internal import CryptokiNames
internal import KeychainModel
internal import SystemCrypto
internal import Wire

extension TokenFacts: WireOptions {}
extension TokenItemSelection.Kinds: WireOptions {}

/// Texts that are longer than their fields in PKCS #11 are refused.
extension CryptokiSlotName: WireValue {
    func write(to message: inout MessageWriter) { message.write(description, manufacturer, number) }

    init(from message: inout MessageReader) throws(WireError) {
        let (description, manufacturer) = (try message.value(String.self), try message.value(String.self))
        self.init(description: description, manufacturer: manufacturer, number: try message.value())
        guard self.description == description, self.manufacturer == manufacturer else { throw .malformed }
    }
}

/// Texts that are longer than their fields in PKCS #11 are refused.
extension CryptokiTokenName: WireValue {
    func write(to message: inout MessageWriter) { message.write(label, manufacturer, model, serialNumber) }

    init(from message: inout MessageReader) throws(WireError) {
        let texts: [String] = [
            try message.value(), try message.value(), try message.value(), try message.value(),
        ]
        self.init(label: texts[0], manufacturer: texts[1], model: texts[2], serialNumber: texts[3])
        guard [label, manufacturer, model, serialNumber] == texts else { throw .malformed }
    }
}

extension TokenPlace.Occupancy: WireRecord {
    static let fields = Fields(TokenPlace.Occupancy.init(hasToken:changeCount:), \.hasToken, \.changeCount)
}

extension TokenPlace: WireRecord {
    static let fields = Fields(
        TokenPlace.init(_:at:name:slotName:occupancy:), \.kind, \.location, \.name, \.slotName, \.occupancy)
}

extension TokenDescription: WireRecord {
    static let fields = Fields(
        TokenDescription.init(generation:login:), \.generation, \.login,
        setting: \.version, \.name, \.pin, \.keyLimits)
}

extension TokenPIN: WireRecord {
    static let fields = Fields(
        TokenPIN.init(isReadOnly:needsLogin:canAsk:triesLeft:maximumTries:lengths:version:),
        \.isReadOnly, \.needsLogin, \.canAsk, \.triesLeft, \.maximumTries, \.lengths, \.version)
}

extension TokenKeyLimits: WireRecord {
    static let fields = Fields(TokenKeyLimits.init(rsa:curves:hasCurve25519:), \.rsa, \.curves, \.hasCurve25519)
}

extension TokenItemSelection: WireRecord {
    static let fields = Fields(
        TokenItemSelection.init(_:cryptokiID:reference:data:), \.kinds, \.cryptokiID, \.reference, \.data)
}

extension TokenItemSelection.Data: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .none: message.write(case: 1)
        case .possible: message.write(case: 2)
        case .known: message.write(case: 3)
        case .among(let references): message.write(case: 4, references)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .none
        case 2: self = .possible
        case 3: self = .known
        case 4: self = try message.read(Self.among)
        default: throw .malformed
        }
    }
}
