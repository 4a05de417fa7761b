internal import KeychainModel
package import SecureBytes
package import Wire

extension AccessGroups: WireRecord {
    static let fields = Fields(AccessGroups.init, \.names)
}

extension HostOptions.Modules: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case .none: message.write(case: 1)
        case .configured: message.write(case: 2)
        case .named(let names): message.write(case: 3, names)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .none
        case 2: self = .configured
        case 3: self = try message.read(Self.named)
        default: throw .malformed
        }
    }
}

extension HostOptions: WireRecord {
    static let fields = Fields(
        HostOptions.init(modules:reader:recalls:waitsOnce:accessGroups:hasMoreRights:),
        \.modules, \.reader, \.recalls, \.waitsOnce, \.accessGroups,
        \.hasMoreRights, where: \.isWithinBounds)
}

extension HostOptions {
    /// The options of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write, and for options that are not within bounds.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the options.
    package func message() -> MessageWriter { wholeMessage }
}
