/// The cost of one guess at a password: the parameters of scrypt, RFC 7914 §2.
public struct ScryptCost: Sendable, Hashable {
    /// The cost in memory and time, a power of two.
    public let n: UInt64
    /// The block size, in units of 128 bytes.
    public let r: UInt32
    /// The number of times that the mixing is repeated.
    public let p: UInt32

    /// 128 MiB and some tenths of a second.
    public static let standard = ScryptCost(n: 1 << 17, r: 8, p: 1)

    /// The costs that a person chooses from, in mebibytes: from an eighth of the standard, for machines with little memory, to four times it.
    private static let sizes: [UInt64] = [16, 32, 64, 128, 256, 512]

    /// The sizes, as text for a person.
    package static let choices = sizes.map(String.init).joined(separator: ", ")

    /// - Parameter text: one of ``choices``.
    package init?(mebibytes text: String) {
        guard let size = UInt64(text), Self.sizes.contains(size) else { return nil }
        self.init(n: size << 10, r: Self.standard.r, p: Self.standard.p)
    }

    /// The largest product of the three that is tried, 64 times the standard: a file must not keep a program busy for hours.
    static let maximumWork: UInt64 = 1 << 26

    public init(n: UInt64, r: UInt32, p: UInt32) {
        (self.n, self.r, self.p) = (n, r, p)
    }

    /// Whether scrypt takes the parameters, and ends in an acceptable time.
    package var isAcceptable: Bool {
        let (blocks, first) = n.multipliedReportingOverflow(by: UInt64(r))
        let (work, second) = blocks.multipliedReportingOverflow(by: UInt64(p))
        return n > 1 && n & (n - 1) == 0 && r > 0 && p > 0 && !first && !second && work <= Self.maximumWork
    }
}
