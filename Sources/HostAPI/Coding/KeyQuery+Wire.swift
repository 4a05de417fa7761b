internal import KeychainModel
internal import Wire

extension KeyQuery: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(selector)
        message.write(places)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), in: try message.value())
    }
}

extension KeyQuery.Places: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .keychains(let keychains):
            message.write(1 as UInt8)
            message.write(keychains) { $1.write($0) }
        case .absentTokens: message.write(2 as UInt8)
        case .knownTokens: message.write(3 as UInt8)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1:
            self = .keychains(
                try message.optional { (message) throws(WireError) in try message.value([KeychainIdentifier].self) })
        case 2: self = .absentTokens
        case 3: self = .knownTokens
        default: throw .malformed
        }
    }
}

extension KeySelector: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .name(let name):
            message.write(1 as UInt8)
            message.write(name)
        case .signer(let name):
            message.write(2 as UInt8)
            message.write(name)
        case .label(let label):
            message.write(3 as UInt8)
            message.write(label)
        case .publicKeyHash(let hash):
            message.write(4 as UInt8)
            message.write(hash)
        case .reference(let reference):
            message.write(5 as UInt8)
            message.write(reference)
        case .cryptokiID(let id):
            message.write(6 as UInt8)
            message.write(id)
        case .any: message.write(7 as UInt8)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .name(try message.text())
        case 2: self = .signer(try message.text())
        case 3: self = .label(try message.text())
        case 4: self = .publicKeyHash(try message.bytes())
        case 5: self = .reference(try message.value())
        case 6: self = .cryptokiID(try message.bytes())
        case 7: self = .any
        default: throw .malformed
        }
    }
}

extension KeyDescription: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(item)
        message.write(keychainName)
        message.write(slotName)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), keychainName: try message.text(), slotName: try message.optional())
    }
}

extension Vouching: WireValue {}
