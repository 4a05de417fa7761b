internal import KeychainModel
internal import Wire

extension ModuleDescription.Token: WireRecord {
    static let fields = Fields(ModuleDescription.Token.init(_:label:slot:), \.identifier, \.label, \.slot)
}

extension ModuleDescription.State: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .used(let tokens, let readers): message.write(case: 1, tokens, readers)
        case .failed(let error): message.write(case: 2, error)
        case .leftOut(let reason): message.write(case: 3, reason)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.used)
        case 2: self = try message.read(Self.failed)
        case 3: self = try message.read(Self.leftOut)
        default: throw .malformed
        }
    }
}

extension ModuleDescription: WireRecord {
    static let fields = Fields(ModuleDescription.init(_:path:_:), \.name, \.path, \.state)
}
