internal import HostAPI
internal import Localization
internal import Platform
internal import SystemCrypto

/// Tells a person that a card still makes a key, which takes cards up to minutes for RSA, and what an end of the wait leaves.
///
///     let notice = NewKeyNotice(.rsa(bits: 4096), in: slot, of: label, prompter)
///     defer { notice.end() }
struct NewKeyNotice: Sendable {
    /// The time that a card takes for a key on a curve.
    private static let usualTime: Duration = .seconds(2)

    private let number: UInt64

    /// - Parameters:
    ///   - card: its label or its reader.
    ///   - prompter: shows the message to the person.
    init(_ kind: KeyKind, in slot: String, of card: String, _ prompter: any Prompter) {
        let message: LocalizedText =
            "'\(card)' makes a key (\(kind)) in slot \(slot), which can take minutes. It goes on where this program is ended: 'tokenctl card info' tells then whether the slot has the new key. Where the card is taken out, the slot has none."
        let text = String(localized: message)
        number = DelayedActions.shared.begin(after: NewKeyNotice.usualTime) { prompter.show(text) }
    }

    /// Ends the wait: the card has answered.
    func end() { DelayedActions.shared.end(number) }
}
