internal import Platform
public import KeychainModel

/// The drivers whose cards are left alone: one name per line in a file of the user's.
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
    /// - Throws: `errSecNoAccessForItem` for a file that another user may change; `errSecDecode` or `errSecIO` for one
    ///   that cannot be read.
    public var disabledDrivers: Set<String> {
        get throws(KeychainError) { try disabledDriversFile.read()?.names ?? [] }
    }

    /// Disables a driver, so that its cards are left alone, or enables it again.
    public func setDriver(_ name: String, isDisabled: Bool) throws(KeychainError) {
        try disabledDriversFile.change { drivers throws(KeychainError) in
            if isDisabled { drivers.names.insert(name) } else { drivers.names.remove(name) }
        }
    }

    private var disabledDriversFile: PreferencesFile<DisabledDrivers> {
        PreferencesFile(path: directories.configuration + "/disabled-drivers")
    }
}
