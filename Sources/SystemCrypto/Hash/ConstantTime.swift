internal import COpenSSL

/// Comparisons and choices whose time does not depend on the values. A mask, all ones for yes and zero for no, replaces a branch.
public enum ConstantTime {
    /// Whether both hold the same bytes. Their lengths are not secret.
    public static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt = 0
        for index in left.indices { difference |= UInt(left[index] ^ right[index]) }
        return isZero(difference) != 0
    }

    static func isZero(_ value: UInt) -> UInt {
        UInt(copenssl_value_barrier(0 &- ((~value & (value &- 1)) >> UInt(UInt.bitWidth - 1))))
    }

    static func isEqual(_ left: UInt, _ right: UInt) -> UInt {
        isZero(left ^ right)
    }

    /// Whether `left < right`, for values below 2^63.
    static func isLess(_ left: UInt, _ right: UInt) -> UInt {
        UInt(copenssl_value_barrier(0 &- ((left &- right) >> UInt(UInt.bitWidth - 1))))
    }

    static func select(_ mask: UInt, _ yes: UInt, _ no: UInt) -> UInt {
        (mask & yes) | (~mask & no)
    }

    static func select(_ mask: UInt, _ yes: UInt8, _ no: UInt8) -> UInt8 {
        UInt8(truncatingIfNeeded: select(mask, UInt(yes), UInt(no)))
    }
}
