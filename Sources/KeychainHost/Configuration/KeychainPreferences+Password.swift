package import KeychainModel
internal import Settings

// The cost of one guess at a keychain's password.
extension KeychainPreferences {
    /// The cost for passwords that are set from now on: the higher of the user's and the system's, unless the system says whose
    /// counts; else the standard one.
    ///
    /// - Throws: `errSecDecode` where settings cannot be read.
    package func passwordCost() throws(KeychainError) -> ScryptCost {
        let (system, user) = (try file(of: .system).read(), try file(of: .user).read())
        return effective(.passwordCost, cost(in: user), cost(in: system), of: system) { $0.n > $1.n ? $0 : $1 }
            ?? .standard
    }

    private func cost(in text: PreferencesText?) -> ScryptCost? {
        text?[.passwordCost]?.first.flatMap(ScryptCost.init(mebibytes:))
    }
}
