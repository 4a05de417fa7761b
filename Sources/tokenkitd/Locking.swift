internal import KeychainHost
internal import LoginSessions

/// Forgets the secrets that the programs of the session have unlocked, and has cards forget their PINs.
///
/// On sleep, a keychain locks only where its settings say so, as it does without a host.
@Sendable func lockEverything(_ cards: SharedCards, after event: LoginEvent) {
    KeychainPreferences().lockKeychains { keychain in event != .suspending || keychain.locksOnSleep }
    // A card that waits for a touch may take long.
    cards.forgetPINs()
}
