internal import SecureBytes
package import TokenKit

/// The PIV application's answer to its selection. SP 800-73-5 part 2 table 3.
///
///     61 { 4F PIX · 79 { 4F RID } · 50 label · 5F50 URL · AC { 80 algorithm … 06 00 } · 7F66 { 02 command 02 response } }
package struct ApplicationTemplate: Hashable, Sendable {
    /// Bytes of the longest command and response of a card that takes extended length fields.
    package struct LengthLimits: Hashable, Sendable {
        package let command: Int
        package let response: Int
    }

    /// Whether the template's identifiers are those of PIV.
    package let isPIV: Bool
    package let label: String?
    package let algorithms: [PIVAlgorithm]
    package let lengthLimits: LengthLimits?

    /// Whether the template has only the identifiers, as on YubiKeys.
    package let isMinimal: Bool

    package init(parsing data: [UInt8]) throws(TokenError) {
        let elements = try PIVFormat.parsing("application template") { () throws(TLVError) -> [TLV] in
            var reader = TLVReader(data)
            let template = try reader.require(0x61)
            var inner = try template.children()
            // Some cards nest the template in another one.
            if let nested = try inner.next(0x61) { inner = try nested.children() }
            return try inner.all()
        }
        let fields = Dictionary(elements.map { ($0.tag, $0.value) }) { first, _ in first }
        isPIV = ApplicationTemplate.isPIV(identifier: fields[0x4F], authority: fields[0x79])
        label = fields[0x50].map { PIVFormat.text($0) }
        // PivApplet has one `AC` for each algorithm.
        algorithms = elements.filter { $0.tag == 0xAC }.flatMap { ApplicationTemplate.algorithms(in: $0.value) }
        lengthLimits = ApplicationTemplate.lengthLimits(in: fields[0x7F66] ?? [])
        isMinimal = fields.keys.allSatisfy { $0 == 0x4F || $0 == 0x79 }
    }

    private static let registeredProvider = PIVCommand.applicationID.prefix(5)

    /// The PIX without its version.
    private static let extensionBytes = PIVCommand.applicationID.suffix(4)

    /// `4F` holds the PIX; on early cards the whole AID; on Giesecke & Devrient's the PIX without its first byte.
    private static func isPIV(identifier: [UInt8]?, authority: [UInt8]?) -> Bool {
        guard let identifier else { return false }
        if let authority, authority.count > 2, !authority.dropFirst(2).elementsEqual(registeredProvider) {
            return false
        }
        return identifier.starts(with: PIVCommand.applicationID) || identifier.starts(with: extensionBytes)
            || identifier.starts(with: extensionBytes.dropFirst())
    }

    /// The algorithms of the tag `AC`. They are a hint, so that an unreadable `AC` counts as absent.
    private static func algorithms(in value: [UInt8]) -> [PIVAlgorithm] {
        var reader = TLVReader(value)
        let fields = (try? reader.all()) ?? []
        return fields.filter { $0.tag == 0x80 && $0.value.count == 1 }
            .flatMap { $0.value.map { PIVAlgorithm(rawValue: $0) } }
    }

    /// Two numbers, command first. ISO/IEC 7816-4 §12.7.1.
    private static func lengthLimits(in value: [UInt8]) -> LengthLimits? {
        var reader = TLVReader(value)
        let fields = (try? reader.all()) ?? []
        let numbers = fields.filter { $0.tag == 0x02 && (1...3).contains($0.value.count) }
            .map { Int(bigEndianBytes: $0.value) }
        return numbers.count == 2 ? LengthLimits(command: numbers[0], response: numbers[1]) : nil
    }
}
