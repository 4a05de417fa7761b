internal import KeychainModel
internal import Wire

extension GuardedAction: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .use(let key): message.write(case: 1, key)
        case .change(let keychain): message.write(case: 2, keychain)
        case .reading(let keychain): message.write(case: 3, keychain)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.use)
        case 2: self = try message.read(Self.change)
        case 3: self = try message.read(Self.reading)
        default: throw .malformed
        }
    }
}
