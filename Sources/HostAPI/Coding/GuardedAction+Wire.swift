internal import KeychainModel
internal import Wire

extension GuardedAction: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .use(let key):
            message.write(1 as UInt8)
            message.write(key)
        case .change(let keychain):
            message.write(2 as UInt8)
            message.write(keychain)
        case .reading(let keychain):
            message.write(3 as UInt8)
            message.write(keychain)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .use(of: try message.value())
        case 2: self = .change(of: try message.value())
        case 3: self = .reading(of: try message.value())
        default: throw .malformed
        }
    }
}
