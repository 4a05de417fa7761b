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
        case .none: message.write(case: 1)
        case .given(let passphrase): message.write(case: 2, passphrase)
        case .asked: message.write(case: 3)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .none
        case 2: self = try message.read(Self.given)
        case 3: self = .asked
        default: throw .malformed
        }
    }
}

extension ImportRequest.Target: WireRecord {
    static let fields = Fields(
        ImportRequest.Target.init, \.keychain,
        setting: \.certificates, \.keys, \.privateKeys, \.requiresProtection)
}

extension ImportRequest: WireRecord {
    static let fields = Fields(
        ImportRequest.init(_:named:), \.file, \.name,
        setting: \.kind, \.format, \.passphrase, \.refusesSeveralKeys, \.target)
}

extension ImportedItem: WireRecord {
    static let fields = Fields(ImportedItem.init(_:isNew:), \.item, \.isNew)
}

extension ImportedContent.Content: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .objects(let certificates, let publicKeys, let privateKeys):
            message.write(case: 1, certificates, publicKeys, privateKeys)
        case .items(let items): message.write(case: 2, items)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.objects)
        case 2: self = try message.read(Self.items)
        default: throw .malformed
        }
    }
}

extension ImportedContent: WireRecord {
    static let fields = Fields(ImportedContent.init(_:_:others:), \.format, \.content, \.others)
}
