internal import KeychainModel
internal import Wire

extension Folding: WireValue {}

extension Query: WireValue {
    func write(to message: inout MessageWriter) {
        message.append(itemClass.rawValue)
        message.append(attributes)
        reference.write(to: &message)
        filters.write(to: &message)
        folding.write(to: &message)
        keychains.write(to: &message)
        limit.write(to: &message)
        message.append(isLocalOnly)
        message.append(isDistinct)
        message.append(includesAbsentTokens)
    }

    /// A query in a message has to pass the same checks as one that a client makes.
    init(from message: inout MessageReader) throws(WireError) {
        let itemClass = try ItemClass(from: &message)
        let attributes = try message.attributes()
        let reference = try PersistentReference?(from: &message)
        let filters = try [Filter](from: &message)
        let folding = try Folding(from: &message)
        let keychains = try [KeychainIdentifier]?(from: &message)
        let limit = try Limit(from: &message)
        let query: Query?
        if let reference {
            query = try? Query(
                reference, attributes, filters: filters, folding: folding, in: keychains, limit: limit)
        } else {
            // A query without a value of `sync` finds all items, but one that is made without it would get 0.
            let all: Attributes = [.synchronizable: Query.anySynchronizable]
            query = try? Query(
                itemClass, all.merging(attributes) { $1 }, filters: filters, folding: folding, in: keychains,
                limit: limit)
        }
        guard var query, query.itemClass == itemClass, query.attributes == attributes else { throw .malformed }
        query.isLocalOnly = try message.flag()
        query.isDistinct = try message.flag()
        query.includesAbsentTokens = try message.flag()
        self = query
    }
}

extension Query.Limit: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .one: message.write(-1)
        case .all: message.write(0)
        case .atMost(let count): message.write(count)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(Int64.self) {
        case -1: self = .one
        case 0: self = .all
        case let count where count > 0: self = .atMost(Int(count))
        default: throw .malformed
        }
    }
}

extension SubjectMatch: WireRecord {
    static let fields = Fields(SubjectMatch.init, \.part, \.text)
}

extension Filter: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .subject(let match): message.write(case: 1, match)
        case .issuers(let names): message.write(case: 2, names)
        case .emailAddress(let address): message.write(case: 3, address)
        case .policy(let policy): message.write(case: 4, policy)
        case .validOn(let time): message.write(case: 5, time)
        case .hostOrSubdomain(let host): message.write(case: 6, host)
        case .trusted: message.write(case: 7)
        case .items(let list): message.write(case: 8, list)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .subject(try message.value())
        case 2: self = try message.read(Self.issuers)
        case 3: self = try message.read(Self.emailAddress)
        case 4: self = try message.read(Self.policy)
        case 5: self = try message.read(Self.validOn)
        case 6: self = try message.read(Self.hostOrSubdomain)
        case 7: self = .trusted
        case 8: self = try message.read(Self.items)
        default: throw .malformed
        }
    }
}

/// The members of each set are written in the order of their bytes, each once.
extension ItemList: WireValue {
    func write(to message: inout MessageWriter) {
        for members in [references.map { $0.encoded() }, Array(certificates)] {
            message.write(members.sorted { $0.lexicographicallyPrecedes($1) })
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        let references = try message.value([PersistentReference].self)
        let certificates = try message.value([[UInt8]].self)
        for members in [references.map { $0.encoded() }, certificates] {
            guard zip(members, members.dropFirst()).allSatisfy({ $0.lexicographicallyPrecedes($1) }) else {
                throw .malformed
            }
        }
        self.init(references, certificates: certificates)
    }
}
