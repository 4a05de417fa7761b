internal import Platform
internal import KeychainModel

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
    var disabledDrivers: Set<String> {
        get throws(KeychainError) { try disabledDriversFile.read()?.names ?? [] }
    }

    /// The drivers that one domain disables. Only the user's settings have any.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func disabledDrivers(in domain: PreferencesDomain) throws(KeychainError) -> Set<String> {
        guard domain == .user else {
            _ = try file(of: domain)
            return []
        }
        return try disabledDrivers
    }

    /// Disables a driver, so that its cards are left alone, or enables it again.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for another domain than the user's.
    func setDriver(
        _ name: String, isDisabled: Bool, in domain: PreferencesDomain = .user
    ) throws(KeychainError) {
        guard domain == .user else {
            throw KeychainError(.invalidPreferencesDomain, "only a user disables drivers of cards")
        }
        try disabledDriversFile.change { drivers throws(KeychainError) in
            if isDisabled { drivers.names.insert(name) } else { drivers.names.remove(name) }
        }
    }

    private var disabledDriversFile: PreferencesFile<DisabledDrivers> {
        PreferencesFile(path: directories.configuration + "/disabled-drivers")
    }
}
