internal import Localization

/// A message for the person at the machine, whichever window is in front.
package struct DesktopNotice: Sendable, Hashable {
    package enum Kind: Sendable {
        /// Something waits for the person now. The message is worth nothing once that is over.
        case wait
        case warning
    }

    /// A notice replaces the former one of its topic.
    package let topic: String
    package let kind: Kind
    /// One line.
    package let title: String
    /// Plain text, in which each name from a card or a program is bounded and has no line feed.
    package let text: String

    /// A notice in the language of the host's process, which is that of the desktop.
    init(topic: String, kind: Kind, title: LocalizedText, text: LocalizedText) {
        (self.topic, self.kind) = (topic, kind)
        (self.title, self.text) = (title.rendered(in: .ofProcess), text.rendered(in: .ofProcess))
    }
}

/// The way to the desktop.
package protocol DesktopNotifier: Sendable {
    /// Shows a notice. Does not wait.
    ///
    /// - Returns: the number by which to close it.
    func show(_ notice: DesktopNotice) -> UInt64

    /// Takes a notice away, unless another one has replaced it. Does not wait.
    func close(_ number: UInt64)
}
