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
        case .replace(let rules, let item): message.write(case: 4, rules, item)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.allow)
        case 2: self = try message.read(Self.deny)
        case 3: self = try message.read(Self.reset)
        case 4: self = try message.read(Self.replace)
        default: throw .malformed
        }
    }
}

extension ItemAccess: WireRecord {
    static let fields = Fields(ItemAccess.init(allowed:denied:), \.allowed, \.denied)
}

extension AccessRule: WireRecord {
    static let fields = Fields(AccessRule.init(_:_:), \.program, \.use)
}

extension AccessProgram: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .any: message.write(case: 1)
        case .asking: message.write(case: 2)
        case .path(let path): message.write(case: 3, path)
        case .decided(let name, let identity): message.write(case: 4, name, identity)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .any
        case 2: self = .asking
        case 3: self = try message.read(Self.path)
        case 4: self = try message.read(Self.decided)
        default: throw .malformed
        }
    }
}
