public import KeychainModel

// The time for which a card's PIN counts, and the proof that a card gives before it gets one. The card's own policy is
// the limit. Keychain semantics 7.5.
extension KeychainPreferences {
    /// The seconds for which a PIN counts in the program that it was given to: the shorter of the user's and the
    /// system's time; nil for as long as the card counts it.
    func pinTimeout() throws(KeychainError) -> UInt32? {
        let times = [try pinTimeout(in: .user), try pinTimeout(in: .system)]
        return times.compactMap { $0 }.min()
    }

    /// The time of one domain.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func pinTimeout(in domain: PreferencesDomain) throws(KeychainError) -> UInt32? {
        try file(of: domain).read()?[.pinTimeout]?.first.flatMap { UInt32($0) }
    }

    /// Sets or clears the time of a domain. It applies to PINs that are presented from now on, also in running programs.
    ///
    /// - Parameter seconds: at least 1.
    /// - Throws: `errSecParam` for 0; `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    public func setPINTimeout(_ seconds: UInt32?, in domain: PreferencesDomain = .user) throws(KeychainError) {
        guard seconds != 0 else { throw KeychainError(.param, "a PIN must count for at least one second") }
        try file(of: domain).change { text throws(KeychainError) in
            try text.set(.pinTimeout, to: seconds.map { [String($0)] })
        }
    }

    /// The time-out that slots of readers and modules use. Unreadable settings may have had one, so they count as a
    /// second, the shortest.
    public var effectivePINTimeout: Duration? {
        do throws(KeychainError) { return try pinTimeout().map { .seconds($0) } } catch { return .seconds(1) }
    }

    /// Whether a card has to prove, before it gets a PIN, that it holds the key that identifies it: if the user's or
    /// the system's settings want it.
    func provesBeforePIN() throws(KeychainError) -> Bool {
        [try provesBeforePIN(in: .user), try provesBeforePIN(in: .system)].contains(true)
    }

    /// The setting of one domain; nil where it has none.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func provesBeforePIN(in domain: PreferencesDomain) throws(KeychainError) -> Bool? {
        try file(of: domain).read()?[.pinProof]?.first.map { $0 == "on" }
    }

    /// Sets or clears the setting of a domain. It applies from now on, also in running programs.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    public func setProvesBeforePIN(_ proves: Bool?, in domain: PreferencesDomain = .user) throws(KeychainError) {
        try file(of: domain).change { text throws(KeychainError) in
            try text.set(.pinProof, to: proves.map { [$0 ? "on" : "off"] })
        }
    }

    /// The setting that drivers follow. It counts as on where the settings cannot be read.
    var effectiveProofBeforePIN: Bool {
        do throws(KeychainError) { return try provesBeforePIN() } catch { return true }
    }
}
