internal import SecureBytes
package import TokenKit

/// The text that is printed on the card, in machine-readable form. SP 800-73-5 part 1 §3.2.3 and table 14.
package struct PrintedInformation: Hashable, Sendable {
    package let name: String?
    package let affiliation: String?
    package let expiry: String?
    package let serialNumber: String?
    package let issuer: String?
    package let organizationLines: [String]

    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("Printed Information") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        func line(_ tag: TLVTag) -> String? {
            fields[tag].map { PIVFormat.text($0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        name = line(0x01)
        affiliation = line(0x02)
        expiry = line(0x04)
        serialNumber = line(0x05)
        issuer = line(0x06)
        organizationLines = [line(0x07), line(0x08)].compactMap { $0 }
    }
}
