internal import KeychainModel
internal import Wire

extension Attribute: WireValue {}

extension Explanation.Outcome: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .searched(let matches): message.write(case: 1, matches)
        case .skipped(let reason): message.write(case: 2, reason)
        case .failed(let reason): message.write(case: 3, reason)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = try message.read(Self.searched)
        case 2: self = try message.read(Self.skipped)
        case 3: self = try message.read(Self.failed)
        default: throw .malformed
        }
    }
}

extension Explanation.Visit: WireRecord {
    static let fields = Fields(
        Explanation.Visit.init(keychain:outcome:damage:question:plan:),
        \.keychain, \.outcome, \.damage, \.question, \.plan)
}

extension Explanation: WireRecord {
    static let fields = Fields(
        Explanation.init(itemClass:columns:filters:limit:visits:count:),
        \.itemClass, \.columns, \.filters, \.limit, \.visits, \.count)
}
