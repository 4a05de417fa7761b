internal import KeychainModel
internal import SystemCrypto
internal import Wire

extension ExportRequest.Format: WireValue {}

extension ExportRequest.Object: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .certificate(let certificate, let name): message.write(case: 1, certificate, name)
        case .publicKey(let key, let name): message.write(case: 2, key, name)
        case .privateKey(let key, let name): message.write(case: 3, key, name)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.certificate)
        case 2: self = try message.read(Self.publicKey)
        case 3: self = try message.read(Self.privateKey)
        default: throw .malformed
        }
    }
}

extension ExportRequest: WireRecord {
    static let fields = Fields(
        ExportRequest.init(_:as:), \.objects, \.format, setting: \.isArmored, \.passphrase, \.subject)
}
