internal import TokenKit

extension PIVQuirk {
    /// Every make that differs. Several rows may match a card; the first one with a maker or model names it.
    package static let table: [PIVQuirk] = [
        PIVQuirk(
            // The ATR of the contactless interface has no room for the last letter.
            "YubiKey 5", by: "Yubico", where: Match(historicalText: "YubiKe"),
            [
                .tellsVersion, .tellsSerialNumber, .mayTellMetadata, .mayAttest, .anyPINCharacters, .onlyApplicationPIN,
                .retiredKeysWithoutHistory, .keysByVersion,
            ],
            profiles: ["yubikey-5.7", "yubikey-5.4", "yubikey-5.3.1", "yubikey-nfc"]),
        PIVQuirk(
            "YubiKey 4", by: "Yubico", where: Match(historicalText: "Yubikey4"),
            [
                .tellsVersion, .mayAttest, .anyPINCharacters, .onlyApplicationPIN, .noLogout,
                .retiredKeysWithoutHistory, .keysByVersion,
            ],
            profiles: ["yubikey-4.3", "yubikey-4.2"]),
        PIVQuirk(
            "YubiKey NEO", by: "Yubico", where: Match(historicalText: "YubikeyNEO"),
            [
                .tellsVersion, .anyPINCharacters, .onlyApplicationPIN, .noLogout, .retiredKeysWithoutHistory,
                .keysByVersion,
            ],
            profiles: ["yubikey-neo"]),
        PIVQuirk(
            // The label does not show the other functions: metadata and logout came only after 0.9.0.
            "PivApplet", by: nil, where: Match(labelPrefix: "PivApplet"), [.tellsVersion, .retiredKeysWithoutHistory],
            profiles: ["pivapplet", "pivapplet-jc22", "pivapplet-metadata"]),
        PIVQuirk(
            nil, by: nil, where: Match(announcedAlgorithm: .p256WithSHA1), [.hashesOnCard],
            profiles: ["pivapplet-jc22"]),
        PIVQuirk(
            // This make claims a version whose functions it lacks, and has neither GUID nor FASC-N.
            nil, by: nil, where: Match(atr: ATR([0x3B, 0x80, 0x80, 0x01, 0x01]), isMinimal: true),
            [.tellsVersion, .tellsSerialNumber, .retiredKeysWithoutHistory], profiles: ["token2"]),
        PIVQuirk(
            nil, by: "SoloKeys", where: Match(announcedAlgorithm: .soloEd25519), [.ed25519As22], profiles: ["solo-2"]),
        PIVQuirk(
            // Cards with both CAC and PIV applications.
            nil, by: nil, where: Match(historicalPrefix: [0x00, 0x31, 0xC0, 0x64]),
            [.onlyApplicationPIN, .noStatusQuery, .noLogout], profiles: ["dual-cac", "oberthur-va"]),
    ]
}

/// The differences of one card, from all rows that match it.
struct PIVQuirks: Hashable, Sendable {
    let manufacturer: String?
    let model: String?
    private let differences: Set<PIVQuirk.Difference>

    init(of atr: ATR, _ application: ApplicationTemplate) {
        let rows = PIVQuirk.table.filter { $0.match.holds(for: atr, application) }
        manufacturer = rows.lazy.compactMap(\.manufacturer).first
        model = rows.lazy.compactMap(\.model).first
        differences = rows.reduce(into: []) { $0.formUnion($1.differences) }
    }

    func has(_ difference: PIVQuirk.Difference) -> Bool { differences.contains(difference) }
}
