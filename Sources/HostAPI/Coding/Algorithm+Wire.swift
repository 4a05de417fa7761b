internal import SystemCrypto
internal import Wire

extension DigestAlgorithm: WireValue {}
extension KeyAlgorithm.Agreement: WireValue {}
extension KeyAlgorithm.InitializationVector: WireValue {}
extension KeyOperation: WireValue {}
extension SignatureAlgorithm.Form: WireValue {}

extension KeyAlgorithm: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .signature(let algorithm): message.write(case: 1, algorithm)
        case .messageSignature(let algorithm): message.write(case: 2, algorithm)
        case .encryption(let encryption): message.write(case: 3, encryption)
        case .rsaHybrid(let digest): message.write(case: 4, digest)
        case .keyExchange(let agreement, let digest): message.write(case: 5, agreement, digest)
        case .ecies(let agreement, let digest, let vector): message.write(case: 6, agreement, digest, vector)
        case .aesGCM: message.write(case: 7)
        case .aesKeyWrap: message.write(case: 8)
        case .hmac(let digest): message.write(case: 9, digest)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.signature)
        case 2: self = try message.read(Self.messageSignature)
        case 3: self = try message.read(Self.encryption)
        case 4: self = try message.read(Self.rsaHybrid)
        case 5: self = try message.read(Self.keyExchange)
        case 6: self = try message.read(Self.ecies)
        case 7: self = .aesGCM
        case 8: self = .aesKeyWrap
        case 9: self = try message.read(Self.hmac)
        default: throw .malformed
        }
    }
}

extension SignatureAlgorithm: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .rsaRaw: message.write(case: 1)
        case .rsaPKCS1(let digest): message.write(case: 2, digest)
        case .rsaPSS(let digest, let mgf1, let saltLength): message.write(case: 3, digest, mgf1, saltLength)
        case .ecdsa(let digest, let form): message.write(case: 4, digest, form)
        case .ed25519: message.write(case: 5)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .rsaRaw
        case 2: self = try message.read(Self.rsaPKCS1)
        case 3:
            self = try message.read(Self.rsaPSS)
            // A salt is shorter than any modulus.
            guard case .rsaPSS(_, _, let saltLength) = self, (saltLength ?? 0) <= 1 << 16 else { throw .malformed }
        case 4: self = try message.read(Self.ecdsa)
        case 5: self = .ed25519
        default: throw .malformed
        }
    }
}

extension RSAEncryption: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .raw: message.write(case: 1)
        case .pkcs1: message.write(case: 2)
        case .oaep(let digest, let mgf1, let label): message.write(case: 3, digest, mgf1, label)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .raw
        case 2: self = .pkcs1
        case 3: self = try message.read(Self.oaep)
        default: throw .malformed
        }
    }
}

extension KeyExchangeParameters: WireRecord {
    static let fields = Fields(
        KeyExchangeParameters.init(requestedSize:sharedInfo:), \.requestedSize, \.sharedInfo,
        where: { ($0.requestedSize ?? 0) <= 1 << 20 })
}
