internal import KeychainModel
internal import Localization
internal import Platform
internal import Settings

extension KeychainPreferences {
    /// The drivers whose cards are left alone: those that the user or the system disables.
    ///
    /// - Throws: `errSecNoAccessForItem` for a file that another user may change; `errSecDecode` or `errSecIO` for one
    ///   that cannot be read.
    var disabledDrivers: Set<String> {
        get throws(KeychainError) { try disabledDrivers(in: .user).union(disabledDrivers(in: .system)) }
    }

    /// The drivers that one domain disables.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func disabledDrivers(in domain: PreferencesDomain) throws(KeychainError) -> Set<String> {
        try file("disabled-drivers", of: domain, as: DisabledDrivers.self).read()?.names ?? []
    }

    /// Disables a driver, so that its cards are left alone, or enables it again.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``; `errSecWrPerm` for a user who enables one that the system
    ///   disables.
    func setDriver(
        _ name: String, isDisabled: Bool, in domain: PreferencesDomain = .user
    ) throws(KeychainError) {
        if !isDisabled, domain == .user, try disabledDrivers(in: .system).contains(name) {
            throw KeychainError(
                .writePermission, "the administrator disables '\(name)' in \(directories.system)/disabled-drivers")
        }
        try file("disabled-drivers", of: domain, as: DisabledDrivers.self).change { drivers throws(KeychainError) in
            if isDisabled { drivers.insert(name) } else { drivers.remove(name) }
        }
    }
}
