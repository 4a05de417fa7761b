/// The domain of settings. Keychain semantics 2.1.
public enum PreferencesDomain: String, CaseIterable, Sendable {
    /// The user's.
    case user
    /// The whole system's, and so everybody's.
    case system
    /// Another name for the whole system's: on Linux its daemons have no settings apart from everybody's.
    case common
    /// The cards, which come and go by themselves.
    case dynamic
}
