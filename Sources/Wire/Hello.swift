/// The first message of a client, about itself. The host asks the kernel which process the client is.
package struct Hello: Equatable {
    /// The versions of the wire that the client speaks.
    package var oldestVersion: UInt64
    package var newestVersion: UInt64
    /// The first number for handles. A client that lost its host asks the next one for numbers above all former handles.
    package var firstHandle: UInt64
    /// Whether answers shall have a text about their return value.
    package var wantsNotes: Bool
    /// The path that the client's library was loaded from; empty where it is unknown.
    package var libraryPath: [UInt8]
    /// Environment variables, each as `NAME=value`.
    package var environment: [[UInt8]]

    package static let version: UInt64 = 1

    /// The greatest first number, which leaves more handles than a host ever gives out.
    package static let maximumFirstHandle: UInt64 = 1 << 63

    package init(
        oldestVersion: UInt64 = version, newestVersion: UInt64 = version, firstHandle: UInt64, wantsNotes: Bool,
        libraryPath: [UInt8], environment: [[UInt8]]
    ) {
        self.oldestVersion = oldestVersion
        self.newestVersion = newestVersion
        self.firstHandle = firstHandle
        self.wantsNotes = wantsNotes
        self.libraryPath = libraryPath
        self.environment = environment
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        oldestVersion = try reader.number()
        newestVersion = try reader.number()
        firstHandle = try reader.number()
        wantsNotes = try reader.flag()
        libraryPath = try reader.byteString()
        environment = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { environment.append(try reader.byteString()) }
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(oldestVersion)
        writer.append(newestVersion)
        writer.append(firstHandle)
        writer.append(wantsNotes)
        writer.append(libraryPath)
        writer.append(count: environment.count)
        for variable in environment { writer.append(variable) }
        return writer.bytes
    }
}

/// The host's answer to a ``Hello``.
package enum HelloAnswer: Equatable {
    /// The client is served, in this version of the wire.
    case served(version: UInt64)
    /// The host speaks none of the client's versions.
    case otherVersion
    /// The client's environment names other keychains, or another card service, than this host's.
    case otherEnvironment
    /// The host has its maximum of clients, or belongs to another user.
    case busy
    /// The client is served as one on another machine, which hands in no descriptors: each further connection begins with the ticket.
    case servedRemotely(version: UInt64, ticket: Ticket)

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        let (code, version) = (try reader.number(), try reader.number())
        switch (code, version) {
        case (0, _): self = .served(version: version)
        case (1, 0): self = .otherVersion
        case (2, 0): self = .otherEnvironment
        case (3, 0): self = .busy
        case (4, _): self = .servedRemotely(version: version, ticket: try Ticket(from: &reader))
        default: throw .malformed
        }
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        switch self {
        case .served(let version):
            writer.append(0)
            writer.append(version)
        case .otherVersion:
            writer.append(1)
            writer.append(0)
        case .otherEnvironment:
            writer.append(2)
            writer.append(0)
        case .busy:
            writer.append(3)
            writer.append(0)
        case .servedRemotely(let version, let ticket):
            writer.append(4)
            writer.append(version)
            ticket.write(to: &writer)
        }
        return writer.bytes
    }
}

/// A secret number by which the host knows the further connections of a client on another machine.
package struct Ticket: Hashable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        try self.init(from: &reader)
        try reader.finish()
    }

    init(from reader: inout FieldReader) throws(WireError) { (high, low) = (try reader.number(), try reader.number()) }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        write(to: &writer)
        return writer.bytes
    }

    func write(to writer: inout FieldWriter) {
        writer.append(high)
        writer.append(low)
    }
}
