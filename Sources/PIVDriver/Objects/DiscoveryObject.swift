internal import SecureBytes
package import TokenKit

/// The Discovery Object: which PINs there are. SP 800-73-5 part 1 §3.3.2.
///
///     4F AID · 5F2F PIN usage policy (two bytes)
package struct DiscoveryObject: Hashable, Sendable {
    /// The means that can prove the cardholder's presence: the first byte of the PIN usage policy.
    package struct Policy: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let applicationPIN = Policy(rawValue: 0x40)
        package static let globalPIN = Policy(rawValue: 0x20)
        package static let biometric = Policy(rawValue: 0x10)
        package static let virtualContactInterface = Policy(rawValue: 0x08)
        package static let noPairingCode = Policy(rawValue: 0x04)
    }

    package let policy: Policy

    /// Whether the cardholder knows the PIN of the whole card rather than that of the application: the second byte of the policy.
    package let prefersGlobalPIN: Bool

    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("Discovery Object") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        guard let value = fields[0x5F2F], value.count == 2 else {
            throw PIVFormat.malformed("Discovery Object", "\(TLVError(.wrongLength, tag: 0x5F2F))")
        }
        policy = Policy(rawValue: value[0])
        prefersGlobalPIN = policy.contains(.globalPIN) && value[1] == 0x20
    }
}
