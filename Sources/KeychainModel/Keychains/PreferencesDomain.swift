/// The domain of settings. Keychain semantics 2.1.
public enum PreferencesDomain: String, CaseIterable, Sendable {
    /// The user's settings.
    case user
    /// The settings of the whole system, which apply to every user.
    case system
    /// Another name for ``system``: on Linux, daemons have no settings of their own.
    case common
    /// The cards, which come and go by themselves.
    case dynamic
}
