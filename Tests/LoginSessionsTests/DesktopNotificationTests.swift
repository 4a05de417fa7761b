import Foundation
import TestSupport
import Testing

@testable import LoginSessions

/// Notifications on a bus of the test's own with a stand-in for the desktop's server.
@Suite struct DesktopNotificationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func notifications(pause: Duration = .zero) -> DesktopNotifications {
        DesktopNotifications(bus: TestBus.address(in: folder), pause: pause)
    }

    private static let touch = DesktopNotification("Touch", "ssh waits", urgency: .critical, isPassing: true)

    @Test func aNotificationIsShownReplacedByTheNextOneOfItsTopicAndClosed() throws {
        let bus = try TestBus(in: folder)
        let desktop = try StandInDesktop(on: bus)
        let notifications = notifications()
        let first = notifications.show(Self.touch, about: "touch")
        #expect(eventually { desktop.calls == ["show 1 0 2 1 60000 Touch|ssh waits"] })
        let second = notifications.show(DesktopNotification("Wrong PIN", "one try\nis left"), about: "touch")
        #expect(eventually { desktop.calls.last == "show 1 1 1 0 -1 Wrong PIN|one try/is left" })
        // The first one is there no more.
        notifications.close(first)
        _ = notifications.show(DesktopNotification("Other", "text"), about: "other")
        #expect(eventually { desktop.calls.last == "show 2 0 1 0 -1 Other|text" })
        notifications.close(second)
        #expect(eventually { desktop.calls.last == "close 1" })
        #expect(desktop.calls.count == 4)
        // It is a new bubble after that.
        _ = notifications.show(Self.touch, about: "touch")
        #expect(eventually { desktop.calls.last == "show 3 0 2 1 60000 Touch|ssh waits" })
    }

    @Test func markupIsEscapedWhereTheServerTakesItAndTextIsBounded() throws {
        let bus = try TestBus(in: folder)
        let hostile = DesktopNotification(
            "<b>a</b> & b", "<a href=\"x\">&amp;</a>" + String(repeating: "x", count: 100_000))
        var desktop: StandInDesktop? = try StandInDesktop(on: bus)
        let notifications = notifications()
        _ = notifications.show(hostile, about: "1")
        #expect(eventually { desktop?.shown.count == 1 })
        let escaped = try #require(desktop?.shown.first)
        // The title has no markup.
        #expect(escaped.hasPrefix("<b>a</b> & b|&lt;a href=\"x\"&gt;&amp;amp;&lt;/a&gt;x"))
        #expect(escaped.count < 2100)
        // The next server takes none, and is another one.
        desktop = nil
        let plain = try StandInDesktop(on: bus, .plain)
        _ = notifications.show(hostile, about: "1")
        #expect(eventually { plain.shown.count == 1 })
        #expect(plain.shown.first?.hasPrefix("<b>a</b> & b|<a href=\"x\">&amp;</a>x") == true)
        #expect(plain.calls.first?.hasPrefix("show 1 0 ") == true, "the former server's number means nothing to it")
    }

    @Test func whatWasClosedBeforeItWasShownIsNotShown() throws {
        let notifications = notifications()
        let bus = try TestBus(in: folder)
        let desktop = try StandInDesktop(on: bus, .mute)
        _ = notifications.show(Self.touch, about: "first")
        #expect(eventually { desktop.calls == ["asked"] })
        // The thread waits for the server. All of this is only noted, and most of it not even that.
        for topic in 0..<1000 { notifications.close(notifications.show(Self.touch, about: "\(topic)")) }
        #expect(desktop.calls == ["asked"])
    }

    @Test func withoutABusOrAServerNothingIsShownAndAfterwardsItIs() throws {
        let notifications = notifications()
        notifications.close(notifications.show(Self.touch, about: "touch"))
        var bus: TestBus? = try TestBus(in: folder)
        // Nobody has the name, and the bus starts nobody for it.
        _ = notifications.show(Self.touch, about: "touch")
        var desktop: StandInDesktop? = try bus.map { try StandInDesktop(on: $0) }
        #expect(eventually { shows(Self.touch, by: notifications, on: desktop) })
        desktop = nil
        bus = nil
        _ = notifications.show(Self.touch, about: "touch")
        bus = try TestBus(in: folder)
        desktop = try bus.map { try StandInDesktop(on: $0) }
        #expect(eventually { shows(Self.touch, by: notifications, on: desktop) })
    }

    private func shows(
        _ notification: DesktopNotification, by notifications: DesktopNotifications, on desktop: StandInDesktop?
    ) -> Bool {
        _ = notifications.show(notification, about: "again")
        return desktop?.shown.isEmpty == false
    }

    @Test func anAnswerOfAnotherFormIsAFailure() throws {
        let bus = try TestBus(in: folder)
        let desktop = try StandInDesktop(on: bus, .odd)
        let notifications = notifications()
        for count in 1...2 {
            let number = notifications.show(Self.touch, about: "touch")
            #expect(eventually { desktop.shown.count == count })
            notifications.close(number)
        }
        // Neither is known by a number that could be closed or replaced.
        #expect(desktop.calls.allSatisfy { $0.contains(" 0 2 1 60000 ") })
    }

    @Test func onlySocketsAreABus() {
        func address(_ variables: [String: String]) -> String? { SessionBus.address { variables[$0] } }
        let runtime = ["XDG_RUNTIME_DIR": "/run/user/1 0"]
        #expect(address([:]) == nil)
        #expect(address(["XDG_RUNTIME_DIR": "run"]) == nil)
        #expect(address(runtime) == "unix:path=/run/user/1%200/bus")
        func address(_ bus: String) -> String? { address(runtime.merging(["DBUS_SESSION_BUS_ADDRESS": bus]) { $1 }) }
        #expect(address("") == "unix:path=/run/user/1%200/bus")
        #expect(address("unix:path=/a;tcp:host=b;unix:abstract=c") == "unix:path=/a;unix:abstract=c")
        #expect(address("unixexec:path=/bin/sh") == nil)
        #expect(address("autolaunch:") == nil)
    }
}
