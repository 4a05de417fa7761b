internal import KeychainModel
internal import SystemCrypto
internal import Wire

extension ExportRequest.Format: WireValue {}

extension ExportRequest.Object: WireValue {
    func write(to message: inout MessageWriter) {
        let name: String?
        switch self {
        case .certificate(let certificate, let given):
            message.write(1 as UInt8)
            message.write(certificate)
            name = given
        case .publicKey(let key, let given):
            message.write(2 as UInt8)
            message.write(key)
            name = given
        case .privateKey(let key, let given):
            message.write(3 as UInt8)
            message.write(key)
            name = given
        }
        message.write(name) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .certificate(try message.value(), name: try message.optionalText())
        case 2: self = .publicKey(try message.value(), name: try message.optionalText())
        case 3: self = .privateKey(try message.value(), name: try message.optionalText())
        default: throw .malformed
        }
    }
}

extension ExportRequest: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(objects)
        message.write(format)
        message.write(isArmored)
        message.write(passphrase)
        message.write(subject)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), as: try message.value())
        isArmored = try message.flag()
        passphrase = try message.value()
        subject = try message.text()
    }
}
