internal import KeychainModel
internal import Wire

extension AccessQuestion.Use: WireValue {}

extension AccessEntry: WireRecord {
    static let fields = Fields(
        AccessEntry.init(item:reference:program:use:isAllowed:isLasting:), \.item, \.reference, \.program, \.use,
        \.isAllowed, \.isLasting)
}

extension AccessChange: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .allow(let programs, let items): message.write(case: 1, programs, items)
        case .deny(let programs, let items): message.write(case: 2, programs, items)
        case .reset(let program, let items): message.write(case: 3, program, items)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.allow)
        case 2: self = try message.read(Self.deny)
        case 3: self = try message.read(Self.reset)
        default: throw .malformed
        }
    }
}
