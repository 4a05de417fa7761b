internal import Wire

/// A structure that is written as its fields, one after the other:
///
///     extension PasswordChange: WireRecord {
///         static let fields = Fields(PasswordChange.init, \.leftover, setting: \.renewed, \.dropped)
///     }
protocol WireRecord: WireValue {
    static var fields: Fields<Self> { get }
}

extension WireRecord {
    func write(to message: inout MessageWriter) { Self.fields.write(self, &message) }
    init(from message: inout MessageReader) throws(WireError) { self = try Self.fields.read(&message) }
}

/// The fields of a structure, in the order in which they are written.
struct Fields<Record>: Sendable {
    fileprivate let write: @Sendable (Record, inout MessageWriter) -> Void
    fileprivate let read: @Sendable (inout MessageReader) throws(WireError) -> Record

    /// - Parameters:
    ///   - make: the initialiser that takes the first fields.
    ///   - members: the fields that it takes. These are functions, since a key path is slower.
    ///   - others: the fields that are set afterwards.
    ///   - isValid: whether a structure with these fields is accepted.
    init<each Member: WireValue, each Other: WireValue>(
        _ make: @escaping @Sendable (repeat each Member) -> Record,
        _ members: repeat @escaping @Sendable (Record) -> each Member,
        setting others: repeat any WritableKeyPath<Record, each Other> & Sendable,
        where isValid: @escaping @Sendable (Record) -> Bool = { _ in true }
    ) {
        write = { record, message in
            repeat (each members)(record).write(to: &message)
            repeat record[keyPath: each others].write(to: &message)
        }
        read = { (message) throws(WireError) in
            var record = try message.read(make)
            repeat record[keyPath: each others] = try (each Other)(from: &message)
            guard isValid(record) else { throw .malformed }
            return record
        }
    }
}
