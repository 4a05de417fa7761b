/// The Federal Agency Smart Credential Number: forty characters of four bits and an odd parity bit each.
///
/// Technical Implementation Guidance for Smart Card Enabled Physical Access Control Systems, §2.1.
public struct FASCN: Sendable, Hashable {
    /// The agency and its system have four digits each, the credential six.
    public let agency: Int
    public let system: Int
    public let credential: Int

    /// The person identifier has ten digits.
    public let person: Int

    /// The agency 9999 stands for cards that are not federal.
    public init(agency: Int = 9999, system: Int = 9999, credential: Int = 999_999, person: Int = 0) {
        self.agency = agency
        self.system = system
        self.credential = credential
        self.person = person
    }

    private enum Sentinel {
        static let start = 0xB
        static let field = 0xD
        static let end = 0xF
    }

    /// The 25 bytes of a CHUID's tag `30`.
    public var encoded: [UInt8] {
        var characters = [Sentinel.start]
        for field in [digits(agency, 4), digits(system, 4), digits(credential, 6), [0], [1]] {
            characters += field + [Sentinel.field]
        }
        // Organizational category, identifier and association: a civilian employee of the agency.
        characters += digits(person, 10) + [1] + digits(agency, 4) + [1, Sentinel.end]
        characters.append(characters.reduce(0, ^))
        let bits = characters.flatMap(FASCN.bits)
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | $1 }
        }
    }

    private func digits(_ number: Int, _ count: Int) -> [Int] {
        var (rest, digits) = (max(number, 0), [Int]())
        for _ in 0..<count {
            digits.append(rest % 10)
            rest /= 10
        }
        return digits.reversed()
    }

    /// The bits of a character, lowest first, and the parity bit that makes the number of ones odd.
    private static func bits(_ character: Int) -> [UInt8] {
        let bits = (0..<4).map { UInt8(truncatingIfNeeded: character >> $0 & 1) }
        return bits + [1 ^ bits.reduce(0, ^)]
    }
}
