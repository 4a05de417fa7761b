/// The version of Yubico's PIV application, compared number by number.
public struct Firmware: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let major: UInt8
    public let minor: UInt8
    public let patch: UInt8

    public init(_ major: UInt8, _ minor: UInt8, _ patch: UInt8) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    public static func < (left: Firmware, right: Firmware) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    public var description: String { "\(major).\(minor).\(patch)" }

    /// The three numbers, as the card tells them.
    var bytes: [UInt8] { [major, minor, patch] }

    /// The instructions that came with this version or before it.
    var instructions: Set<Instruction> {
        var known: Set<Instruction> = [.version, .reset, .setRetries, .importKey, .setManagementKey]
        if self >= Firmware(4, 3, 0) { known.insert(.attest) }
        if self >= Firmware(5, 0, 0) { known.insert(.serialNumber) }
        if self >= Firmware(5, 3, 0) { known.insert(.metadata) }
        if self >= Firmware(5, 7, 0) { known.insert(.moveKey) }
        return known
    }
}

/// An instruction byte that the card knows. SP 800-73-5 part 2 table 2; from `F6` on they are Yubico's.
enum Instruction: UInt8, Sendable, Hashable {
    case verify = 0x20
    case changeReferenceData = 0x24
    case resetRetryCounter = 0x2C
    case generateKeyPair = 0x47
    case generalAuthenticate = 0x87
    case select = 0xA4
    case getResponse = 0xC0
    case getData = 0xCB
    case putData = 0xDB
    case moveKey = 0xF6
    case metadata = 0xF7
    case serialNumber = 0xF8
    case attest = 0xF9
    case setRetries = 0xFA
    case reset = 0xFB
    case version = 0xFD
    case importKey = 0xFE
    case setManagementKey = 0xFF

    /// The commands that every PIV card has.
    static let standard: Set<Instruction> = [
        .verify, .changeReferenceData, .resetRetryCounter, .generateKeyPair, .generalAuthenticate, .select,
        .getResponse, .getData, .putData,
    ]
}
