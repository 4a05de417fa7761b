package import TokenKit

/// The Federal Agency Smart Credential Number: forty digits and separators of five bits each.
///
/// A character is a digit's four bits, low bit first, and an odd parity bit. SS and FS are 11 and 13. Technical Implementation
/// Guidance: Smart Card Enabled Physical Access Control Systems 2.3, §2.1.
package struct FASCN: Hashable, Sendable, CustomStringConvertible {
    package let agency: String
    package let system: String
    package let credential: String
    package let series: String
    package let issue: String
    package let person: String
    package let organizationCategory: String
    package let organization: String
    package let association: String

    /// Bytes of the encoded number.
    package static let byteCount = 25

    package init(parsing bytes: [UInt8]) throws(TokenError) {
        var characters = try FASCN.characters(in: bytes)[...]
        func digits(_ count: Int) throws(TokenError) -> String {
            let field = characters.prefix(count)
            guard field.count == count, field.allSatisfy({ $0 < 10 }) else {
                throw FASCN.malformed("a digit is missing")
            }
            characters = characters.dropFirst(count)
            return field.map { String($0) }.joined()
        }
        func separator(_ value: UInt8) throws(TokenError) {
            guard characters.popFirst() == value else { throw FASCN.malformed("a separator is missing") }
        }
        try separator(FASCN.startSentinel)
        agency = try digits(4)
        try separator(FASCN.fieldSeparator)
        system = try digits(4)
        try separator(FASCN.fieldSeparator)
        credential = try digits(6)
        try separator(FASCN.fieldSeparator)
        series = try digits(1)
        try separator(FASCN.fieldSeparator)
        issue = try digits(1)
        try separator(FASCN.fieldSeparator)
        person = try digits(10)
        organizationCategory = try digits(1)
        organization = try digits(4)
        association = try digits(1)
        try separator(FASCN.endSentinel)
    }

    /// Whether a federal agency issued the card. Other issuers write 9999 for the agency, and only the GUID tells their cards
    /// apart.
    package var isFederal: Bool { agency != "9999" }

    /// Agency, system and credential number, which identify the card of a federal agency.
    package var description: String { "\(agency)-\(system)-\(credential)-\(series)-\(issue)" }

    private static let startSentinel: UInt8 = 0xB
    private static let fieldSeparator: UInt8 = 0xD
    private static let endSentinel: UInt8 = 0xF

    private static func characters(in bytes: [UInt8]) throws(TokenError) -> [UInt8] {
        guard bytes.count == byteCount else { throw malformed("\(bytes.count) bytes instead of \(byteCount)") }
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        return try stride(from: 0, to: bits.count, by: 5).map { start in bits[start..<start + 5] }
            .map { (group) throws(TokenError) in
                guard group.reduce(0, +) % 2 == 1 else { throw malformed("a parity bit is wrong") }
                return group.prefix(4).reversed().reduce(0) { $0 << 1 | $1 }
            }
    }

    private static func malformed(_ why: LocalizedText) -> TokenError { PIVFormat.malformed("FASC-N", why) }
}
