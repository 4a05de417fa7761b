internal import SecureBytes
internal import SystemCrypto
internal import Wire

extension CardAuthority: WireValue {}
extension KeyReplacement: WireValue {}

extension KeyPolicies: WireRecord {
    static let fields = Fields(KeyPolicies.init(pin:touch:), \.pin, \.touch)
}

extension KeyRenewal: WireRecord {
    static let fields = Fields(KeyRenewal.init(of:for:), \.slot, \.name)
}

extension BlockCipher: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .tripleDES: message.write(case: 1)
        case .aes128: message.write(case: 2)
        case .aes192: message.write(case: 3)
        case .aes256: message.write(case: 4)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .tripleDES
        case 2: self = .aes128
        case 3: self = .aes192
        case 4: self = .aes256
        default: throw .malformed
        }
    }
}

extension KeyKind: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .rsa(let bits): message.write(case: 1, bits)
        case .ecP256: message.write(case: 2)
        case .ecP384: message.write(case: 3)
        case .ecP521: message.write(case: 4)
        case .ed25519: message.write(case: 5)
        case .x25519: message.write(case: 6)
        case .other(let name): message.write(case: 7, name)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.rsa)
        case 2: self = .ecP256
        case 3: self = .ecP384
        case 4: self = .ecP521
        case 5: self = .ed25519
        case 6: self = .x25519
        case 7: self = try message.read(Self.other)
        default: throw .malformed
        }
    }
}

extension CardManagementKey: WireRecord {
    static let fields = Fields(
        CardManagementKey.init(_:_:touch:isKeptOnCard:), \.cipher, \.value, \.touch, \.isKeptOnCard)
}

extension KeyRole: WireValue {}

extension CardKeyPlace: WireRecord {
    static let fields = Fields(CardKeyPlace.init(_:for:), \.slot, \.use)
}

extension CardManagementKeyStatus: WireRecord {
    static let fields = Fields(
        CardManagementKeyStatus.init(cipher:isDefault:touch:isKeptOnCard:ciphers:keyPlaces:movesKeys:weakKeys:),
        \.cipher, \.isDefault, \.touch, \.isKeptOnCard, \.ciphers, \.keyPlaces, \.movesKeys, \.weakKeys)
}

extension CardChange: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .generateKey(let slot, let kind, let policies, let replacing, let allowsWeak):
            message.write(case: 1, slot, kind, policies, replacing, allowsWeak)
        case .importKey(let slot, let key, let policies, let replacing, let allowsWeak):
            message.write(case: 2, slot, key, policies, replacing, allowsWeak)
        case .setCertificate(let slot, let certificate, let allowsWeak):
            message.write(case: 3, slot, certificate, allowsWeak)
        case .deleteKey(let slot, let replacing): message.write(case: 4, slot, replacing)
        case .moveKey(let slot, let target): message.write(case: 5, slot, target)
        case .setData(let name, let content): message.write(case: 6, name, content)
        case .identify: message.write(case: 7)
        case .setManagementKey(let key): message.write(case: 8, key)
        case .setTries(let pin, let unblockingKey): message.write(case: 9, pin, unblockingKey)
        case .renewKey(let renewal, let slot, let kind, let policies, let replacing, let allowsWeak):
            message.write(case: 10, renewal, slot, kind, policies, replacing, allowsWeak)
        case .setRenewedCertificate(let renewal, let slot, let certificate):
            message.write(case: 11, renewal, slot, certificate)
        case .authenticate: message.write(case: 12)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.generateKey)
        case 2: self = try message.read(Self.importKey)
        case 3: self = try message.read(Self.setCertificate)
        case 4: self = try message.read(Self.deleteKey)
        case 5: self = try message.read(Self.moveKey)
        case 6: self = try message.read(Self.setData)
        case 7: self = .identify
        case 8: self = try message.read(Self.setManagementKey)
        case 9: self = try message.read(Self.setTries)
        case 10: self = try message.read(Self.renewKey)
        case 11: self = try message.read(Self.setRenewedCertificate)
        case 12: self = .authenticate
        default: throw .malformed
        }
    }
}

extension CardChangeOutcome: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .done: message.write(case: 1)
        case .publicKey(let key): message.write(case: 2, key)
        case .managementKey(let key): message.write(case: 3, key)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .done
        case 2: self = try message.read(Self.publicKey)
        case 3: self = try message.read(Self.managementKey)
        default: throw .malformed
        }
    }
}
