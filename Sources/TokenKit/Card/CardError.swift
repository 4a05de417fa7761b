public import Localization

/// The reason that a card could not be reached, or that its answer could not be used.
public struct CardError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// No PC/SC service answers on its socket.
        case serviceUnavailable
        /// The service refuses this user or session.
        case accessDenied
        /// The reader does not exist, or there is none.
        case noReader
        /// The reader holds no card.
        case noCard
        /// The card does not answer its reset.
        case muteCard
        /// Another program holds the card for itself.
        case inUse
        /// The card or its reader went away during the operation.
        case removed
        /// Another program reset the card during the operation: selection and PIN state are gone.
        case reset
        /// The communication of reader and card failed, or the reader refused a command.
        case communication
        /// A wait was cancelled.
        case cancelled
        /// An answer, or a command to be parsed, breaks its format.
        case malformed
        /// An answer is longer than its object may be.
        case responseTooLarge
        /// A command cannot be expressed.
        case invalidCommand
    }

    public let code: Code

    package let reasonText: LocalizedText

    /// The reason and the remedy in the current language; never data from or for the card.
    public var reason: String { String(localized: reasonText) }

    public init(_ code: Code, _ reason: LocalizedText) {
        self.code = code
        reasonText = reason
    }

    public static func == (left: CardError, right: CardError) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    public var description: String { reason }
}
