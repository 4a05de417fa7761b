internal import KeychainModel
internal import Wire

extension Query: WireValue {
    func write(to message: inout MessageWriter) {
        message.write(itemClass)
        message.write(attributes)
        message.write(reference)
        message.write(filters)
        message.write(folding.rawValue)
        message.write(keychains) { $1.write($0) }
        message.write(limit)
        message.write(isLocalOnly)
        message.write(isDistinct)
        message.write(includesAbsentTokens)
    }

    /// A query in a message has to pass the same checks as one that a client makes.
    init(from message: inout MessageReader) throws(WireError) {
        let itemClass = try message.value(ItemClass.self)
        let attributes = try message.attributes()
        let reference = try message.optional(PersistentReference.self)
        let filters = try message.value([Filter].self)
        let folding = Folding(rawValue: try message.byte())
        let keychains = try message.optional { (message) throws(WireError) in
            try message.value([KeychainIdentifier].self)
        }
        let limit = try message.value(Limit.self)
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
        switch try message.integer() {
        case -1: self = .one
        case 0: self = .all
        case let count where count > 0: self = .atMost(count)
        default: throw .malformed
        }
    }
}

extension Filter: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .subject(let match):
            message.write(1 as UInt8)
            message.write(match.part)
            message.write(match.text)
        case .issuers(let names):
            message.write(2 as UInt8)
            message.write(names) { $1.write($0) }
        case .emailAddress(let address):
            message.write(3 as UInt8)
            message.write(address)
        case .policy(let policy):
            message.write(4 as UInt8)
            message.write(policy)
        case .validOn(let time):
            message.write(5 as UInt8)
            message.write(UInt64(bitPattern: time))
        case .hostOrSubdomain(let host):
            message.write(6 as UInt8)
            message.write(host)
        case .trusted: message.write(7 as UInt8)
        case .items(let list):
            message.write(8 as UInt8)
            message.write(list)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.byte() {
        case 1: self = .subject(try message.value(), try message.text())
        case 2: self = .issuers(try message.values { (message) throws(WireError) in try message.bytes() })
        case 3: self = .emailAddress(try message.text())
        case 4: self = .policy(try message.value())
        case 5: self = .validOn(Int64(bitPattern: try message.number()))
        case 6: self = .hostOrSubdomain(try message.text())
        case 7: self = .trusted
        case 8: self = .items(try message.value())
        default: throw .malformed
        }
    }
}

/// The members of each set are written in the order of their bytes, each once.
extension ItemList: WireValue {
    func write(to message: inout MessageWriter) {
        for members in [references.map { $0.encoded() }, Array(certificates)] {
            message.write(members.sorted { $0.lexicographicallyPrecedes($1) }) { $1.write($0) }
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        var members: [[[UInt8]]] = []
        for _ in 0..<2 {
            let list = try message.values { (message) throws(WireError) in try message.bytes() }
            guard zip(list, list.dropFirst()).allSatisfy({ $0.lexicographicallyPrecedes($1) }) else { throw .malformed }
            members.append(list)
        }
        var references: [PersistentReference] = []
        for bytes in members[0] {
            guard let reference = try? PersistentReference(parsing: bytes), reference.encoded() == bytes else {
                throw .malformed
            }
            references.append(reference)
        }
        self.init(references, certificates: members[1])
    }
}
