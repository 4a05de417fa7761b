internal import KeychainModel
internal import Wire

extension ModuleDescription.Token: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(identifier)
        message.write(label)
        message.write(slot)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.value(), label: try message.text(), slot: try message.text())
    }
}

extension ModuleDescription.State: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .used(let tokens, let readers):
            message.write(1 as UInt8)
            message.write(tokens)
            message.write(readers) { $1.write($0) }
        case .failed(let error):
            message.write(2 as UInt8)
            message.write(error)
        case .leftOut(let reason):
            message.write(3 as UInt8)
            message.write(reason)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .used(try message.value(), bypassedReaders: try message.texts())
        case 2: self = .failed(try message.value())
        case 3: self = .leftOut(reason: try message.text())
        default: throw .malformed
        }
    }
}

extension ModuleDescription: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(name)
        message.write(path) { $1.write($0) }
        message.write(state)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(try message.text(), path: try message.optionalText(), try message.value())
    }
}
