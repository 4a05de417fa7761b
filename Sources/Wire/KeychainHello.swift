/// The first message of the C library, about itself. The host asks the kernel which process the client is.
package struct KeychainHello: Equatable {
    /// The versions of the wire that the client speaks.
    package var oldestVersion: UInt64
    package var newestVersion: UInt64
    /// Whether answers shall have their reasons and notes.
    package var wantsNotes: Bool
    /// Whether the program has more rights than its user, who then is not asked in the place that the program's environment names.
    package var hasMoreRights: Bool
    /// Environment variables, each as `NAME=value`.
    package var environment: [[UInt8]]

    package static let version: UInt64 = 1

    package init(
        oldestVersion: UInt64 = version, newestVersion: UInt64 = version, wantsNotes: Bool, hasMoreRights: Bool,
        environment: [[UInt8]]
    ) {
        self.oldestVersion = oldestVersion
        self.newestVersion = newestVersion
        self.wantsNotes = wantsNotes
        self.hasMoreRights = hasMoreRights
        self.environment = environment
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        oldestVersion = try reader.number()
        newestVersion = try reader.number()
        wantsNotes = try reader.flag()
        hasMoreRights = try reader.flag()
        environment = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { environment.append(try reader.byteString()) }
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(oldestVersion)
        writer.append(newestVersion)
        writer.append(wantsNotes)
        writer.append(hasMoreRights)
        writer.append(count: environment.count)
        for variable in environment { writer.append(variable) }
        return writer.bytes
    }
}
