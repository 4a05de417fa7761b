package import SecureBytes
package import TokenKit

/// A card's metadata of a key, on YubiKeys from firmware 5.3, and cards that imitate them. Yubico, GET METADATA.
///
///     01 algorithm · 02 PIN policy, touch policy · 03 origin · 04 public key
package struct KeyMetadata: Hashable, Sendable {
    package let algorithm: PIVAlgorithm

    /// The PIN policy; nil where the card leaves it to the slot.
    package let pinPolicy: PINPolicy?
    package let touchPolicy: TouchPolicy

    /// `81` modulus, `82` exponent of an RSA key, or `86` point; empty where the card does not tell.
    package let publicKey: [UInt8]

    /// Nil for a slot without a key. PivApplet tells policies and origin even then.
    package init?(parsing data: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("key metadata") { () throws(TLVError) in
            var reader = TLVReader(data)
            return try reader.fields()
        }
        guard let algorithm = fields[0x01]?.first else {
            if !fields.isEmpty, fields[0x01] == nil, fields[0x04] == nil { return nil }
            throw PIVFormat.malformed("key metadata", "\(TLVError(.missing, tag: 0x01))")
        }
        self.algorithm = PIVAlgorithm(rawValue: algorithm)
        let policies = fields[0x02] ?? []
        pinPolicy = policies.first.flatMap { YubicoPolicy.pin($0) }
        touchPolicy = policies.dropFirst().first.map { YubicoPolicy.touch($0) } ?? .unknown
        publicKey = fields[0x04] ?? []
    }
}

extension KeyMetadata {
    /// The metadata of a key that the card has just made, or been given.
    ///
    /// - Parameter template: the public key as ``publicKey``.
    static func encoded(
        _ algorithm: PIVAlgorithm, _ policies: KeyPolicies, isImported: Bool, _ template: [UInt8]
    ) -> [UInt8] {
        let numbers = [
            policies.pin.flatMap { YubicoPolicy.number($0) }, policies.touch.flatMap { YubicoPolicy.number($0) },
        ]
        let fields = [
            TLV(0x01, [algorithm.rawValue]), TLV(0x02, numbers.map { $0 ?? 0 }), TLV(0x03, [isImported ? 2 : 1]),
            TLV(0x04, template),
        ]
        return fields.flatMap { $0.encoded() }
    }
}

/// A card's metadata of a PIN or unblocking key.
///
///     05 whether it is the factory's · 06 tries in all, tries left
package struct PINMetadata: Hashable, Sendable {
    package let isDefault: Bool?
    package let maximumTries: Int?
    package let triesLeft: Int?

    package init(parsing data: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("PIN metadata") { () throws(TLVError) in
            var reader = TLVReader(data)
            return try reader.fields()
        }
        isDefault = fields[0x05]?.first.map { $0 != 0 }
        let tries = fields[0x06] ?? []
        maximumTries = tries.count == 2 ? Int(tries[0]) : nil
        triesLeft = tries.count == 2 ? Int(tries[1]) : nil
    }
}

/// The numbers of PIN and touch policies.
enum YubicoPolicy {
    /// The policy of a number. 0 leaves it to the slot; 4 and 5 require a fingerprint, or the PIN instead.
    static func pin(_ number: UInt8) -> PINPolicy? {
        switch number {
        case 0: nil
        case 1: .never
        case 2, 4: .once
        case 3, 5: .always
        default: .other(number)
        }
    }

    static func number(_ policy: PINPolicy) -> UInt8? {
        switch policy {
        case .never: 1
        case .once: 2
        case .always: 3
        case .other(let number): number
        }
    }

    static func number(_ policy: TouchPolicy) -> UInt8? {
        switch policy {
        case .unknown: nil
        case .never: 1
        case .always: 2
        case .cached: 3
        case .other(let number): number
        }
    }

    static func touch(_ number: UInt8) -> TouchPolicy {
        switch number {
        case 0: .unknown
        case 1: .never
        case 2: .always
        case 3: .cached
        default: .other(number)
        }
    }
}
