package import Localization
internal import TokenKit

/// A published weakness of devices with certain versions.
package struct Advisory: Sendable {
    package let name: String
    package let advice: LocalizedText
    let versions: ClosedRange<Firmware>
    /// The keys that are weak where such a device makes them.
    let algorithms: [PIVAlgorithm]
    /// The reason not to make such a key, with the remedy.
    let refusal: LocalizedText
    /// Whether such a key is still good for those who agree to its weakness.
    let canBeAllowed: Bool

    static let all: [Advisory] = [
        // The key can be computed from its public half.
        Advisory(
            name: "YSA-2017-01 (ROCA)", advice: "RSA keys generated on this device are weak; replace them",
            versions: Firmware(4, 2, 6)...Firmware(4, 3, 4), algorithms: [.rsa1024, .rsa2048, .rsa3072, .rsa4096],
            refusal:
                "RSA keys that this card makes are weak, YSA-2017-01 (ROCA) (make a key on a curve, or import one)",
            canBeAllowed: false),
        // The key can be computed by who has the device, its PIN, and hours in a laboratory.
        Advisory(
            name: "YSA-2024-03 (EUCLEAK)", advice: "who holds the device for long can find out its EC keys",
            versions: Firmware(5, 0, 0)...Firmware(5, 6, .max), algorithms: [.p256, .p384],
            refusal:
                "who holds this card for long can find out its EC keys, YSA-2024-03 (EUCLEAK) (make an RSA key, or pass --allow-weak-key)",
            canBeAllowed: true),
    ]

    /// The advisories that hold for a Yubico device of this version.
    package static func all(for firmware: Firmware) -> [Advisory] {
        all.filter { $0.versions.contains(firmware) }
    }

    /// The advisories as facts for people and programs.
    static func facts(for firmware: Firmware) -> [TokenFact] {
        all(for: firmware).map { advisory in
            TokenFact(
                "Warning", "\(advisory.name): \(String(localized: advisory.advice))",
                parts: ["advisories": .list([advisory.name])])
        }
    }
}
