internal import SecureBytes
package import Wire

/// The first message of a client that asks the host's face, about itself. The host asks the kernel which process the client is.
package struct ServiceHello: Sendable, Equatable {
    /// The versions of the face's messages that the client speaks.
    package var oldestVersion: UInt64
    package var newestVersion: UInt64
    /// Environment variables, each as `NAME=value`. Modules of other makers run with them.
    package var environment: [[UInt8]]
    /// Absent from the hello of version 1.
    package var options: HostOptions
    /// The ways in which a client of version 1 can ask its person. Others are asked for them by ``HostQuestion/abilities``.
    package var abilities: PromptAbilities?

    package static let version: UInt64 = 2
    /// The versions that a host serves.
    package static let servedVersions = 1...version
    /// The first version with options, and without abilities.
    private static let versionOfOptions: UInt64 = 2

    package init(
        oldestVersion: UInt64 = version, newestVersion: UInt64 = version, environment: [[UInt8]],
        options: HostOptions = .standard, abilities: PromptAbilities? = nil
    ) {
        self.oldestVersion = oldestVersion
        self.newestVersion = newestVersion
        self.environment = environment
        self.options = options
        self.abilities = abilities
    }

    /// - Throws: `WireError` for anything that ``encoded()`` does not write.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        oldestVersion = try reader.number()
        newestVersion = try reader.number()
        let hasOptions = newestVersion >= ServiceHello.versionOfOptions
        abilities =
            hasOptions ? nil : try PromptAbilities(parsing: try reader.byteString(), lane: Secret(capacity: 0) { _ in })
        environment = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { environment.append(try reader.byteString()) }
        options =
            hasOptions
            ? try HostOptions(parsing: try reader.byteString(), lane: Secret(capacity: 0) { _ in }) : .standard
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(oldestVersion)
        writer.append(newestVersion)
        let hasOptions = newestVersion >= ServiceHello.versionOfOptions
        if !hasOptions, let abilities { writer.append(abilities.message().bytes) }
        writer.append(count: environment.count)
        for variable in environment { writer.append(variable) }
        if hasOptions { writer.append(options.message().bytes) }
        return writer.bytes
    }
}

extension RequestNumber {
    /// The request that a message cancels.
    ///
    /// - Throws: `WireError` for anything that ``encoded()`` does not write.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        self.init(rawValue: try reader.number())
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(rawValue)
        return writer.bytes
    }
}
