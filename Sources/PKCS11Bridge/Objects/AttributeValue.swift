internal import CCryptoki
internal import SecureBytes

/// Values of attributes as C programs have them in memory. PKCS #11 §3.3.
enum Encoded {
    static func bool(_ value: Bool) -> [UInt8] { [value ? 1 : 0] }

    static func ulong(_ value: CK_ULONG) -> [UInt8] { value.nativeBytes }

    static func ulongs(_ values: [CK_ULONG]) -> [UInt8] { values.flatMap(ulong) }

    static func text(_ value: String) -> [UInt8] { Array(value.utf8) }

    /// `CK_DATE`: year, month and day in digits; empty for a year that four digits do not hold.
    ///
    /// - Parameter seconds: since 1970.
    static func date(_ seconds: Int64) -> [UInt8] {
        // Days to a date of the Gregorian calendar, in eras of 400 years that begin in March.
        let days = (seconds - (seconds % 86_400 + 86_400) % 86_400) / 86_400 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let (day, month) = (dayOfYear - (153 * shifted + 2) / 5 + 1, shifted < 10 ? shifted + 3 : shifted - 9)
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        guard 0...9999 ~= year else { return [] }
        return text(digits(year, 4) + digits(month, 2) + digits(day, 2))
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(count - text.count, 0)) + text
    }

    /// The number in a value of that size; nil for any other value.
    static func ulong(in bytes: [UInt8]) -> CK_ULONG? { CK_ULONG(nativeBytes: bytes) }

    /// The numbers in a value of several; nil for any other value.
    static func ulongs(in bytes: [UInt8]) -> [CK_ULONG]? {
        let size = MemoryLayout<CK_ULONG>.size
        guard bytes.count.isMultiple(of: size) else { return nil }
        return stride(from: 0, to: bytes.count, by: size).compactMap { ulong(in: Array(bytes[$0..<$0 + size])) }
    }

    static func bool(in bytes: [UInt8]) -> Bool? {
        bytes.count == 1 ? bytes[0] != 0 : nil
    }

    static func octetString(_ bytes: [UInt8]) -> [UInt8] { TLV(0x04, bytes).encoded() }

    static func integer(_ content: [UInt8]) -> [UInt8] { TLV(0x02, content).encoded() }
}
