internal import COpenSSL
internal import SecureBytes

/// Points in time as certificates have them, in seconds since 1970-01-01T00:00:00Z.
public enum CertificateTime {
    /// The time in the form of ISO 8601, `2026-10-21T09:54:24Z`.
    public static func iso8601(_ seconds: Int64) -> String {
        let (year, month, day) = civilDate(of: seconds)
        let (hour, minute, second) = timeOfDay(of: seconds)
        return "\(padded(year, 4))-\(padded(month))-\(padded(day))T\(padded(hour)):\(padded(minute)):\(padded(second))Z"
    }

    /// The DER of a `Time`, RFC 5280 §4.1.2.5: UTCTime for the years 1950 to 2049, else GeneralizedTime.
    ///
    /// - Throws: `malformed` for a year that does not have four digits.
    static func encode(_ seconds: Int64) throws(CryptoError) -> [UInt8] {
        let (year, month, day) = civilDate(of: seconds)
        let (hour, minute, second) = timeOfDay(of: seconds)
        guard 0...9999 ~= year else { throw CryptoError(.malformed, "time") }
        let rest = [month, day, hour, minute, second].map { padded($0) }.joined() + "Z"
        let isShort = 1950...2049 ~= year
        let text = isShort ? padded(year % 100) + rest : padded(year, 4) + rest
        return DER.element(isShort ? DER.Tag.utcTime : DER.Tag.generalizedTime, Array(text.utf8))
    }

    /// The time in the DER of a `Time`. Wraps `ASN1_TIME_diff`.
    static func decode(_ element: TLV) throws(CryptoError) -> Int64 {
        let der = element.encoded()
        let time = try unsafe Handle("time", parsing: der.span, release: release) {
            unsafe OpaquePointer(d2i_ASN1_TIME(nil, $0, $1))
        }
        let epoch = try unsafe Handle("time", release: release) { _ in unsafe OpaquePointer(ASN1_TIME_set(nil, 0)) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        try unsafe OpenSSL.check("time", failing: .malformed) { _ in
            unsafe ASN1_TIME_diff(&days, &seconds, UnsafePointer(epoch.pointer), UnsafePointer(time.pointer))
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    private static let release: Handle.Release = { unsafe ASN1_TIME_free(UnsafeMutablePointer($0)) }

    /// The date in the Gregorian calendar. Years are counted from March, so that a leap day is the last of its year.
    private static func civilDate(of seconds: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // 1970-01-01 is day 719468 of the calendar that starts at 0000-03-01; 400 years have 146097 days.
        let days = floorDivide(seconds, 86_400) + 719_468
        let era = floorDivide(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func timeOfDay(of seconds: Int64) -> (hour: Int64, minute: Int64, second: Int64) {
        let remainder = seconds % 86_400
        let second = remainder < 0 ? remainder + 86_400 : remainder
        return (second / 3_600, second / 60 % 60, second % 60)
    }

    private static func floorDivide(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        dividend / divisor - (dividend % divisor < 0 ? 1 : 0)
    }

    private static func padded(_ number: Int64, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
