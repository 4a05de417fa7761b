internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import Wire

extension ImportRequest.Kind: WireValue {}
extension ImportRequest.Format: WireValue {}
extension ImportedContent.Format: WireValue {}

extension PublicKey: WireValue {
    func write(to message: inout MessageWriter) { message.write(spki) }

    init(from message: inout MessageReader) throws(WireError) {
        let der = try message.bytes()
        guard let key = try? PublicKey(spki: der), key.spki == der else { throw .malformed }
        self = key
    }
}

extension PassphraseSource: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .none: message.write(1 as UInt8)
        case .given(let passphrase):
            message.write(2 as UInt8)
            message.write(passphrase)
        case .asked: message.write(3 as UInt8)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .none
        case 2: self = .given(try message.secret())
        case 3: self = .asked
        default: throw .malformed
        }
    }
}

extension ImportRequest.Target: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(keychain)
        for attributes in [certificates, keys, privateKeys] { message.write(attributes) }
        message.write(requiresProtection)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value())
        certificates = try message.attributes()
        keys = try message.attributes()
        privateKeys = try message.attributes()
        requiresProtection = try message.flag()
    }
}

extension ImportRequest: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(file)
        message.write(name)
        message.write(kind)
        message.write(format)
        message.write(passphrase)
        message.write(refusesSeveralKeys)
        message.write(target)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.secret(), named: try message.text())
        kind = try message.value()
        format = try message.optional()
        passphrase = try message.value()
        refusesSeveralKeys = try message.flag()
        target = try message.optional()
    }
}

extension ImportedItem: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(item)
        message.write(isNew)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), isNew: try message.flag())
    }
}

extension ImportedContent.Content: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .objects(let certificates, let publicKeys, let privateKeys):
            message.write(1 as UInt8)
            message.write(certificates)
            message.write(publicKeys)
            message.write(privateKeys) { $1.write($0) }
        case .items(let items):
            message.write(2 as UInt8)
            message.write(items)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1:
            self = .objects(
                try message.value(), try message.value(),
                privateKeys: try message.values { (message) throws(WireError) in try message.secret() })
        case 2: self = .items(try message.value())
        default: throw .malformed
        }
    }
}

extension ImportedContent: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(format)
        message.write(content)
        message.write(others) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), try message.value(), others: try message.texts())
    }
}
