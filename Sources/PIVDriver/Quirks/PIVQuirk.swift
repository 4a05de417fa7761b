internal import TokenKit

/// A make of card that differs from SP 800-73, or adds to it: the marks by which it is recognised, and its differences.
package struct PIVQuirk: Sendable {
    /// A difference that must be known before commands are sent to the card.
    package enum Difference: Hashable, Sendable, CaseIterable {
        /// Tells its version (Yubico, `FD`).
        case tellsVersion
        /// Tells the number printed on it (Yubico, `F8`).
        case tellsSerialNumber
        /// May have metadata of its keys and PINs (Yubico, `F7`). The first question shows whether it does.
        case mayTellMetadata
        /// May attest to keys that it generated (Yubico, `F9`, from version 4.3).
        case mayAttest
        /// Takes any characters in a PIN, not only digits.
        case anyPINCharacters
        /// The application's PIN is the only one: the Discovery Object is missing, or tells nothing new.
        case onlyApplicationPIN
        /// Does not tell the state of its PIN.
        case noStatusQuery
        /// Does not forget a PIN on request.
        case noLogout
        /// May have retired keys that are not in the Key History.
        case retiredKeysWithoutHistory
        /// Has kinds of keys that depend on its version (Yubico).
        case keysByVersion
        /// Knows Ed25519 by the number `22`.
        case ed25519As22
        /// ECDSA signs only messages that the card has hashed itself, so that the key cannot sign a digest.
        case hashesOnCard
    }

    /// The marks of a make. All marks must match, except those that are nil.
    package struct Match: Sendable {
        var historicalText: String?
        var historicalPrefix: [UInt8]?
        var atr: ATR?
        var labelPrefix: String?
        var announcedAlgorithm: PIVAlgorithm?
        var isMinimal: Bool?

        func holds(for atr: ATR, _ application: ApplicationTemplate) -> Bool {
            let historical = atr.historicalBytes
            let label = application.label ?? ""
            return historicalText.map { Match.contains(historical, Array($0.utf8)) } ?? true
                && historicalPrefix.map { historical.starts(with: $0) } ?? true
                && self.atr.map { $0 == atr } ?? true
                && labelPrefix.map { label.hasPrefix($0) } ?? true
                && announcedAlgorithm.map { application.algorithms.contains($0) } ?? true
                && isMinimal.map { $0 == application.isMinimal } ?? true
        }

        private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
            bytes.indices.contains { bytes[$0...].starts(with: part) }
        }
    }

    /// The maker's name; nil where the row does not determine it.
    package let manufacturer: String?
    package let model: String?
    package let match: Match
    package let differences: Set<Difference>

    /// The virtual card's profiles that show the differences.
    package let profiles: [String]

    init(
        _ model: String?, by manufacturer: String?, where match: Match, _ differences: Set<Difference>,
        profiles: [String]
    ) {
        self.manufacturer = manufacturer
        self.model = model
        self.match = match
        self.differences = differences
        self.profiles = profiles
    }
}
