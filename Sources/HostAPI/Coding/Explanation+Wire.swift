internal import KeychainModel
internal import Wire

extension Attribute: WireValue {}

extension Explanation.Outcome: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .searched(let matches):
            message.write(1 as UInt8)
            message.write(matches)
        case .skipped(let reason):
            message.write(2 as UInt8)
            message.write(reason)
        case .failed(let reason):
            message.write(3 as UInt8)
            message.write(reason)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .searched(matches: try message.count())
        case 2: self = .skipped(reason: try message.text())
        case 3: self = .failed(reason: try message.text())
        default: throw .malformed
        }
    }
}

extension Explanation.Visit: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(keychain)
        message.write(outcome)
        message.write(damage) { $1.write($0) }
        message.write(question) { $1.write($0) }
        message.write(plan) { $1.write($0) }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            keychain: try message.text(), outcome: try message.value(), damage: try message.texts(),
            question: try message.optional { (message) throws(WireError) in try message.text() },
            plan: try message.texts())
    }
}

extension Explanation: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(itemClass)
        message.write(columns)
        message.write(filters) { $1.write($0) }
        message.write(limit) { $1.write($0) }
        message.write(visits)
        message.write(count)
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init(
            itemClass: try message.value(), columns: try message.value(), filters: try message.texts(),
            limit: try message.optional { (message) throws(WireError) in try message.count() },
            visits: try message.value(), count: try message.count())
    }
}
