internal import SystemCrypto
internal import Wire

extension DigestAlgorithm: WireValue {}
extension KeyAlgorithm.Agreement: WireValue {}
extension KeyAlgorithm.InitializationVector: WireValue {}
extension SignatureAlgorithm.Form: WireValue {}

extension KeyOperation: WireValue {
    func write(to message: inout MessageWriter) { message.write(UInt8(truncatingIfNeeded: rawValue)) }

    init(from message: inout MessageReader) throws(WireError) {
        guard let operation = KeyOperation(rawValue: Int(try message.byte())) else { throw .malformed }
        self = operation
    }
}

extension KeyAlgorithm: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .signature(let algorithm):
            message.write(1 as UInt8)
            message.write(algorithm)
        case .messageSignature(let algorithm):
            message.write(2 as UInt8)
            message.write(algorithm)
        case .encryption(let encryption):
            message.write(3 as UInt8)
            message.write(encryption)
        case .rsaHybrid(let digest):
            message.write(4 as UInt8)
            message.write(digest)
        case .keyExchange(let agreement, let digest):
            message.write(5 as UInt8)
            message.write(agreement)
            message.write(digest)
        case .ecies(let agreement, let digest, let vector):
            message.write(6 as UInt8)
            message.write(agreement)
            message.write(digest)
            message.write(vector)
        case .aesGCM: message.write(7 as UInt8)
        case .aesKeyWrap: message.write(8 as UInt8)
        case .hmac(let digest):
            message.write(9 as UInt8)
            message.write(digest)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .signature(try message.value())
        case 2: self = .messageSignature(try message.value())
        case 3: self = .encryption(try message.value())
        case 4: self = .rsaHybrid(try message.value())
        case 5: self = .keyExchange(try message.value(), try message.optional())
        case 6: self = .ecies(try message.value(), try message.value(), try message.value())
        case 7: self = .aesGCM
        case 8: self = .aesKeyWrap
        case 9: self = .hmac(try message.value())
        default: throw .malformed
        }
    }
}

extension SignatureAlgorithm: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .rsaRaw: message.write(1 as UInt8)
        case .rsaPKCS1(let digest):
            message.write(2 as UInt8)
            message.write(digest)
        case .rsaPSS(let digest, let mgf1, let saltLength):
            message.write(3 as UInt8)
            message.write(digest)
            message.write(mgf1)
            message.write(saltLength) { $1.write($0) }
        case .ecdsa(let digest, let form):
            message.write(4 as UInt8)
            message.write(digest)
            message.write(form)
        case .ed25519: message.write(5 as UInt8)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .rsaRaw
        case 2: self = .rsaPKCS1(try message.optional())
        case 3:
            let (digest, mgf1): (DigestAlgorithm, DigestAlgorithm) = (try message.value(), try message.value())
            let saltLength = try message.optional { (message) throws(WireError) in try message.integer() }
            // A salt is shorter than any modulus.
            guard (saltLength ?? 0) >= 0, (saltLength ?? 0) <= 1 << 16 else { throw .malformed }
            self = .rsaPSS(digest, mgf1: mgf1, saltLength: saltLength)
        case 4: self = .ecdsa(try message.optional(), try message.value())
        case 5: self = .ed25519
        default: throw .malformed
        }
    }
}

extension RSAEncryption: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .raw: message.write(1 as UInt8)
        case .pkcs1: message.write(2 as UInt8)
        case .oaep(let digest, let mgf1, let label):
            message.write(3 as UInt8)
            message.write(digest)
            message.write(mgf1)
            message.write(label)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .raw
        case 2: self = .pkcs1
        case 3: self = .oaep(try message.value(), mgf1: try message.value(), label: try message.bytes())
        default: throw .malformed
        }
    }
}

extension KeyExchangeParameters: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(requestedSize) { $1.write($0) }
        message.write(sharedInfo)
    }

    init(from message: inout MessageReader) throws(WireError) {
        let size = try message.optional { (message) throws(WireError) in try message.integer() }
        guard (size ?? 0) >= 0, (size ?? 0) <= 1 << 20 else { throw .malformed }
        self.init(requestedSize: size, sharedInfo: try message.bytes())
    }
}
