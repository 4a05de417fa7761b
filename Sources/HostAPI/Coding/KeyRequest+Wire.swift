internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import Wire

extension KeyRequest: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(key)
        message.write(algorithm)
        message.write(operation)
        message.write(isAuthorized)
        message.write(isUnwrapping)
    }

    init(from message: inout MessageReader) throws(WireError) {
        let key = try message.value(Key.self)
        let algorithm = try message.value(KeyAlgorithm.self)
        self.init(try message.value(), algorithm, with: key)
        isAuthorized = try message.flag()
        isUnwrapping = try message.flag()
    }
}

extension KeyRequest.Key: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .item(let reference):
            message.write(1 as UInt8)
            message.write(reference)
        case .given(let key):
            message.write(2 as UInt8)
            message.write(key)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .item(try message.value())
        case 2: self = .given(try message.value())
        default: throw .malformed
        }
    }
}

extension GivenKey: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(attributes)
        message.write(der) { $1.write($0) }
        message.write(secret) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            try message.attributes(),
            der: try message.optional { (message) throws(WireError) in try message.bytes() },
            secret: try message.optionalSecret())
    }
}

extension KeyRequest.Operation: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .sign(let input):
            message.write(1 as UInt8)
            message.write(input)
        case .decrypt(let ciphertext):
            message.write(2 as UInt8)
            message.write(ciphertext)
        case .exchange(let peer, let parameters):
            message.write(3 as UInt8)
            message.write(peer)
            message.write(parameters)
        case .verify(let signature, let input):
            message.write(4 as UInt8)
            message.write(signature)
            message.write(input)
        case .encrypt(let plaintext):
            message.write(5 as UInt8)
            message.write(plaintext)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .sign(try message.bytes())
        case 2: self = .decrypt(try message.bytes())
        case 3: self = .exchange(peer: try message.bytes(), try message.value())
        case 4: self = .verify(try message.bytes(), of: try message.bytes())
        case 5: self = .encrypt(try message.secret())
        default: throw .malformed
        }
    }
}
