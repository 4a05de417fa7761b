internal import KeychainHost
internal import LoginSessions
internal import Platform

extension DesktopNotices {
    /// The notices of the session's host; nil where the user wants none, or the session has no bus.
    static var ofSession: DesktopNotices? {
        guard Environment.variable("TOKENKIT_NOTIFICATIONS") != "no", let bus = SessionBus.address() else { return nil }
        return DesktopNotices(
            Desktop(notifications: DesktopNotifications(bus: bus)), in: KeychainPreferences().directories)
    }
}

private struct Desktop: DesktopNotifier {
    let notifications: DesktopNotifications

    func show(_ notice: DesktopNotice) -> UInt64 {
        let isWait = notice.kind == .wait
        // A desktop takes other messages away before a person has looked up from the keyboard.
        let notification = DesktopNotification(
            notice.title, notice.text, urgency: isWait ? .critical : .normal, isPassing: isWait)
        return notifications.show(notification, about: notice.topic)
    }

    func close(_ number: UInt64) { notifications.close(number) }
}
