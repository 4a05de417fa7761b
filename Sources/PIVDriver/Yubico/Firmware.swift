internal import SecureBytes
package import TokenKit

/// The version of Yubico's PIV application, compared number by number.
package struct Firmware: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let major: UInt8
    package let minor: UInt8
    package let patch: UInt8

    package init(_ major: UInt8, _ minor: UInt8, _ patch: UInt8) {
        self.major = major
        self.minor = minor
        self.patch = patch
    }

    /// Reads a ``description``.
    package init?(_ text: String) {
        let parts = text.split(separator: ".").map { UInt8($0) }
        guard parts.count == 3, let major = parts[0], let minor = parts[1], let patch = parts[2] else { return nil }
        self.init(major, minor, patch)
    }

    /// Reads the answer to GET VERSION.
    package init(parsing data: [UInt8]) throws(TokenError) {
        guard data.count == 3 else { throw PIVFormat.malformed("version", "\(data.count) bytes instead of 3") }
        self.init(data[0], data[1], data[2])
    }

    package static func < (left: Firmware, right: Firmware) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    package var description: String { "\(major).\(minor).\(patch)" }
}

/// The number printed on the device.
package enum SerialNumber {
    /// Reads the answer to GET SERIAL NUMBER: four bytes, high byte first. Zero means none.
    package static func parse(_ data: [UInt8]) throws(TokenError) -> UInt32? {
        guard data.count == 4 else { throw PIVFormat.malformed("serial number", "\(data.count) bytes instead of 4") }
        let number = UInt32(bigEndianBytes: data)
        return number == 0 ? nil : number
    }
}
