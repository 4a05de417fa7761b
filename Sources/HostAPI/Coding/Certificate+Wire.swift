internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import Wire

extension Certificate: WireValue {
    func write(to message: inout MessageWriter) { message.write(der) }

    init(from message: inout MessageReader) throws(WireError) {
        let der = try message.bytes()
        do { try self.init(der: der) } catch { throw .malformed }
    }
}

extension ChainRequest.Revocation: WireRecord {
    static let fields = Fields(ChainRequest.Revocation.init(files:isRequired:), \.files, \.isRequired)
}

extension ChainRequest: WireRecord {
    static let fields = Fields(
        ChainRequest.init(_:helpers:), \.certificate, \.helpers,
        setting: \.keychains, \.anchors, \.trustsSystem, \.endsAtAnyAnchor, \.time, \.securityLevel, \.revocation)
}

extension CertificateChain.Outcome: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .trusted(let chain): message.write(case: 1, chain)
        case .untrusted(let reason, let depth): message.write(case: 2, reason, depth)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.trusted)
        case 2: self = try message.read(Self.untrusted)
        default: throw .malformed
        }
    }
}
