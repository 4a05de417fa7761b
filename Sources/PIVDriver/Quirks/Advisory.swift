internal import TokenKit

/// A published weakness of devices with certain versions.
package struct Advisory: Sendable {
    package let name: String
    package let advice: String
    let versions: ClosedRange<Firmware>

    /// The RSA keys that such a device makes can be computed from their public halves.
    static let weakRSA = all[0]

    static let all: [Advisory] = [
        Advisory(
            name: "YSA-2017-01 (ROCA)", advice: "RSA keys generated on this device are weak; replace them",
            versions: Firmware(4, 2, 6)...Firmware(4, 3, 4)),
        Advisory(
            name: "YSA-2024-03 (EUCLEAK)", advice: "who holds the device for long can find out its EC keys",
            versions: Firmware(5, 0, 0)...Firmware(5, 6, .max)),
    ]

    /// The advisories that hold for a Yubico device of this version.
    package static func all(for firmware: Firmware) -> [Advisory] {
        all.filter { $0.versions.contains(firmware) }
    }

    /// The advisories as facts for people and programs.
    static func facts(for firmware: Firmware) -> [TokenFact] {
        all(for: firmware).map { advisory in
            TokenFact(
                "Warning", "\(advisory.name): \(advisory.advice)", parts: ["advisories": .list([advisory.name])])
        }
    }
}
