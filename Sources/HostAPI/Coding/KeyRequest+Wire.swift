internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import Wire

extension KeyRequest: WireRecord {
    static let fields = Fields(
        { KeyRequest($2, $1, with: $0) }, \.key, \.algorithm, \.operation, setting: \.isAuthorized, \.isUnwrapping)
}

extension KeyRequest.Key: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .item(let reference): message.write(case: 1, reference)
        case .given(let key): message.write(case: 2, key)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.item)
        case 2: self = try message.read(Self.given)
        default: throw .malformed
        }
    }
}

extension GivenKey: WireRecord {
    static let fields = Fields(GivenKey.init(_:der:secret:), \.attributes, \.der, \.secret)
}

extension KeyRequest.Operation: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .sign(let input): message.write(case: 1, input)
        case .decrypt(let ciphertext): message.write(case: 2, ciphertext)
        case .exchange(let peer, let parameters): message.write(case: 3, peer, parameters)
        case .verify(let signature, let input): message.write(case: 4, signature, input)
        case .encrypt(let plaintext): message.write(case: 5, plaintext)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.sign)
        case 2: self = try message.read(Self.decrypt)
        case 3: self = try message.read(Self.exchange)
        case 4: self = try message.read(Self.verify)
        case 5: self = try message.read(Self.encrypt)
        default: throw .malformed
        }
    }
}
