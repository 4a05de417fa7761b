internal import KeychainHost
internal import LoginSessions
internal import Platform
internal import TokenKit

/// Forgets the secrets that the programs of the session have unlocked, and has cards and the tokens of modules forget their PINs.
///
/// On sleep, a keychain locks only where its settings say so. A locked screen locks none: which of its items can be read then is a setting
/// of each (`kSecAttrAccessible…`).
@Sendable func lockEverything(
    _ shared: SharedState, after event: LoginEvent
) {
    // Keychains come first: a card may need seconds to forget its PIN, and the machine does not wait longer.
    if event != .screenLocked { shared.files.lock { keychain in event == .sessionEnded || keychain.locksOnSleep } }
    BlockingThread.runAll(
        shared.cards.logouts + shared.allModules.map { module in { module.forgetPINs() } },
        atMost: SharedCards.timeToForget)
}
