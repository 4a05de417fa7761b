public import KeychainModel
internal import Localization
internal import Settings

// The time for which a card's PIN counts, and the proof that a card gives before it gets one. The card's own policy is
// the limit. Keychain semantics 7.5.
extension KeychainPreferences {
    /// The seconds for which a PIN counts in the program that it was given to: the shorter of the user's and the
    /// system's time, unless the system says which; nil for as long as the card counts it.
    func pinTimeout() throws(KeychainError) -> UInt32? {
        let (system, user) = (try file(of: .system).read(), try file(of: .user).read())
        return effective(.pinTimeout, pinTimeout(in: user), pinTimeout(in: system), of: system, stricter: min)
    }

    private func pinTimeout(in text: PreferencesText?) -> UInt32? { text?[.pinTimeout]?.first.flatMap { UInt32($0) } }

    /// The value that counts of the user's and the system's.
    func effective<Value>(
        _ setting: PreferencesText.Setting, _ own: Value?, _ shared: Value?, of system: PreferencesText?,
        stricter: (Value, Value) -> Value
    ) -> Value? {
        guard let own, let shared else { return system?.choice(for: setting) == .fixed ? shared : own ?? shared }
        return switch system?.choice(for: setting) {
        case .fixed: shared
        case .preset: own
        case nil: stricter(own, shared)
        }
    }

    /// The time of one domain.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func pinTimeout(in domain: PreferencesDomain) throws(KeychainError) -> UInt32? {
        pinTimeout(in: try file(of: domain).read())
    }

    /// Sets or clears the time of a domain. It applies to PINs that are presented from now on, also in running programs.
    ///
    /// - Parameter seconds: at least 1.
    /// - Throws: `errSecParam` for 0; `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``; `errSecWrPerm` where the system's is
    ///   fixed.
    public func setPINTimeout(_ seconds: UInt32?, in domain: PreferencesDomain = .user) throws(KeychainError) {
        guard seconds != 0 else { throw KeychainError(.param, "a PIN must count for at least one second") }
        try checkChoice(.pinTimeout, in: domain)
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
    /// the system's settings want it, unless the system says whose count.
    func provesBeforePIN() throws(KeychainError) -> Bool {
        let (system, user) = (try file(of: .system).read(), try file(of: .user).read())
        return effective(.pinProof, proves(in: user), proves(in: system), of: system) { $0 || $1 } ?? false
    }

    private func proves(in text: PreferencesText?) -> Bool? { text?[.pinProof]?.first.map { $0 == "on" } }

    /// The setting of one domain; nil where it has none.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func provesBeforePIN(in domain: PreferencesDomain) throws(KeychainError) -> Bool? {
        proves(in: try file(of: domain).read())
    }

    /// Sets or clears the setting of a domain. It applies from now on, also in running programs.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``; `errSecWrPerm` where the system's is fixed.
    public func setProvesBeforePIN(_ proves: Bool?, in domain: PreferencesDomain = .user) throws(KeychainError) {
        try checkChoice(.pinProof, in: domain)
        try file(of: domain).change { text throws(KeychainError) in
            try text.set(.pinProof, to: proves.map { [$0 ? "on" : "off"] })
        }
    }

    /// The setting that drivers follow. It counts as on where the settings cannot be read.
    var effectiveProofBeforePIN: Bool {
        do throws(KeychainError) { return try provesBeforePIN() } catch { return true }
    }
}
