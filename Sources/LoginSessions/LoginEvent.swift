/// A reason to forget the secrets that a person has unlocked.
package enum LoginEvent: Sendable {
    /// The screen of one of the user's login sessions was locked.
    case screenLocked
    /// The machine is about to sleep.
    case suspending
    /// A login session of the user at this machine, or the user's last one, has ended.
    case sessionEnded
}
