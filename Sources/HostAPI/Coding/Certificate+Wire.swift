internal import KeychainModel
internal import SystemCrypto
internal import Wire

extension Certificate: WireValue {
    func write(to message: inout MessageWriter) { message.write(der) }

    init(from message: inout MessageReader) throws(WireError) {
        let der = try message.bytes()
        do { try self.init(der: der) } catch { throw .malformed }
    }
}

extension ChainRequest.Revocation: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(files) { $1.write($0) }
        message.write(isRequired)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            files: try message.values { (message) throws(WireError) in try message.secret() },
            isRequired: try message.flag())
    }
}

extension ChainRequest: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(certificate)
        message.write(helpers)
        message.write(keychains)
        message.write(anchors)
        message.write(trustsSystem)
        message.write(endsAtAnyAnchor)
        message.write(time) { $1.write(UInt64(bitPattern: $0)) }
        message.write(securityLevel) { $1.write(Int($0)) }
        message.write(revocation)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), helpers: try message.value())
        keychains = try message.optional()
        anchors = try message.value()
        trustsSystem = try message.flag()
        endsAtAnyAnchor = try message.flag()
        time = try message.optional { (message) throws(WireError) in Int64(bitPattern: try message.number()) }
        securityLevel = try message.optional { (message) throws(WireError) in
            guard let level = Int32(exactly: try message.integer()) else { throw .malformed }
            return level
        }
        revocation = try message.optional()
    }
}

extension CertificateChain.Outcome: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .trusted(let chain):
            message.write(1 as UInt8)
            message.write(chain)
        case .untrusted(let reason, let depth):
            message.write(2 as UInt8)
            message.write(reason)
            message.write(depth)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .trusted(try message.value())
        case 2: self = .untrusted(reason: try message.text(), depth: try message.count())
        default: throw .malformed
        }
    }
}
