public import KeychainModel

/// The drivers of cards that are to be left alone: a name a line in a file of the user's.
private struct DisabledDrivers: SettingsText {
    var names: Set<String> = []

    init() {}

    init(parsing text: String, of path: String) {
        names = Set(text.split(whereSeparator: \.isNewline).map(String.init))
    }

    var text: String { names.sorted().map { $0 + "\n" }.joined() }
}

extension KeychainPreferences {
    /// The drivers whose cards are left alone.
    ///
    /// - Throws: what a file has against it that is not the user's own.
    public var disabledDrivers: Set<String> {
        get throws(KeychainError) { try disabledDriversFile.read()?.names ?? [] }
    }

    /// Has the cards of a driver left alone, or used again.
    public func setDriver(_ name: String, isDisabled: Bool) throws(KeychainError) {
        try disabledDriversFile.change { drivers throws(KeychainError) in
            if isDisabled { drivers.names.insert(name) } else { drivers.names.remove(name) }
        }
    }

    private var disabledDriversFile: PreferencesFile<DisabledDrivers> {
        PreferencesFile(path: directories.configuration + "/disabled-drivers")
    }
}
