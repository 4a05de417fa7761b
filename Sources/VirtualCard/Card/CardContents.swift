internal import SecureBytes
internal import TokenKit

/// The state that a virtual card keeps without power.
struct CardContents: Equatable, Sendable {
    /// The data objects: the content of tag `53`, or of the object's own tag for `7E` and `7F61`.
    var objects: [TLVTag: [UInt8]] = [:]
    var keys: [CardKeyReference: CardKey] = [:]
    var managementKey: ManagementKey?
    var references: [PINReference: ReferenceData] = [:]

    /// The device serial number of Yubico's extension.
    var serialNumber: UInt32 = 0
}

/// The key reference of a PIN or unblocking key. SP 800-73-5 part 1 table 4.
enum PINReference: UInt8, Sendable, Hashable, CaseIterable {
    case global = 0x00
    case application = 0x80
    case unblocking = 0x81
}

/// A PIN or unblocking key, and its tries.
struct ReferenceData: Hashable, Sendable {
    /// Bytes of a PIN on the wire, padding included. SP 800-73-5 part 1 §4.4.
    static let length = 8
    static let padding: UInt8 = 0xFF

    var value: CardSecret
    var limit: UInt8
    var remaining: UInt8

    init(_ text: some StringProtocol, limit: UInt8) {
        self.init(value: ReferenceData.padded(Array(text.utf8)), limit: limit, remaining: limit)
    }

    init(value: [UInt8], limit: UInt8, remaining: UInt8) {
        self.value = CardSecret(value)
        self.limit = limit
        self.remaining = remaining
    }

    static func padded(_ bytes: [UInt8]) -> [UInt8] {
        Array((bytes + Array(repeating: padding, count: length)).prefix(max(length, bytes.count)))
    }

    static let defaultPIN = "123456"
    static let defaultPUK = "12345678"
}

/// The card management key, `9B`.
struct ManagementKey: Hashable, Sendable {
    var algorithm: CardAlgorithm
    var value: CardSecret
    var touchPolicy = CardKey.TouchPolicy.never

    /// The factory's value: `01 … 08`, three times.
    static let defaultValue: [UInt8] = (0..<24).map { UInt8($0 % 8 + 1) }
}
