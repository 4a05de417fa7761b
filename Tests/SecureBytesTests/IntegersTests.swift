import TestSupport
import Testing

@testable import SecureBytes

@Suite struct IntegersTests {
    @Test func theOrderOfTheBytes() {
        #expect(UInt8(0xA1).bigEndianBytes == [0xA1])
        #expect(UInt16(0xA1B2).bigEndianBytes == [0xA1, 0xB2])
        #expect(UInt16(0xA1B2).littleEndianBytes == [0xB2, 0xA1])
        #expect(UInt32(0x0102_0304).bigEndianBytes == [1, 2, 3, 4])
        #expect(UInt32(0x0102_0304).littleEndianBytes == [4, 3, 2, 1])
        #expect(UInt64(0x0102_0304_0506_0708).bigEndianBytes == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(Int32(-2).bigEndianBytes == [0xFF, 0xFF, 0xFF, 0xFE])
        #expect(Int64.min.littleEndianBytes == [0, 0, 0, 0, 0, 0, 0, 0x80])
    }

    @Test func nativeBytesAreThoseOfMemory() {
        for number in [0, 1, 0x0102_0304, UInt32.max] {
            let memory = withUnsafeBytes(of: number) { Array($0) }
            #expect(number.nativeBytes == memory)
            #expect(UInt32(nativeBytes: memory) == number)
        }
        #expect(UInt32(nativeBytes: [1, 2, 3]) == nil)
        #expect(UInt32(nativeBytes: [1, 2, 3, 4, 5]) == nil)
        #expect(UInt32(nativeBytes: []) == nil)
    }

    @Test func numbersComeBack() {
        for number in [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0x1234_5678_9ABC_DEF0, UInt64.max] {
            #expect(UInt64(bigEndianBytes: number.bigEndianBytes) == number)
            #expect(UInt64(littleEndianBytes: number.littleEndianBytes) == number)
        }
        for number in [Int16.min, -1, 0, 1, .max] {
            #expect(Int16(bigEndianBytes: number.bigEndianBytes) == number)
            #expect(Int16(littleEndianBytes: number.littleEndianBytes) == number)
        }
    }

    @Test func otherCountsOfBytesDoNotTrap() {
        #expect(UInt32(bigEndianBytes: []) == 0)
        #expect(UInt32(bigEndianBytes: [1, 2]) == 0x0102)
        #expect(UInt32(bigEndianBytes: [9, 9, 1, 2, 3, 4]) == 0x0102_0304)
        #expect(UInt32(littleEndianBytes: [1, 2]) == 0x0201)
        #expect(UInt32(littleEndianBytes: [4, 3, 2, 1, 9, 9]) == 0x0102_0304)
        #expect(Int8(bigEndianBytes: [0x12, 0xFF]) == -1)
    }
}

/// Fields that are written into a secret, and read without an array.
@Suite struct SecretFieldsTests {
    @Test func numbersAndBytesAreAppended() {
        let secret = Secret(capacity: 32) { output in
            output.append(bigEndian: UInt32(0x0102_0304))
            output.append(littleEndian: UInt16(0x0506))
            output.append([7, 8])
            output.append([9].span)
            output.append(lengthPrefixed: [10, 11].span)
        }
        #expect(Array(copying: secret.bytes) == [1, 2, 3, 4, 6, 5, 7, 8, 9, 0, 0, 0, 2, 10, 11])
    }

    @Test func theyAreTakenOffTheFront() {
        let bytes = [UInt8](hex: "01020304 0506 00000002 0A0B 00000000 FF")
        var rest = bytes.span
        let number = rest.readBigEndian(UInt32.self)
        #expect(number == 0x0102_0304)
        let short = rest.readBigEndian(UInt16.self)
        #expect(short == 0x0506)
        for expected in [[0x0A, 0x0B], []] as [[UInt8]] {
            guard let string = rest.readLengthPrefixed() else {
                Issue.record("\(expected) was not read")
                return
            }
            let copied = Array(copying: string)
            #expect(copied == expected)
        }
        let left = Array(copying: rest)
        #expect(left == [0xFF])
    }

    @Test(arguments: ["", "00", "000000", "00000001", "00000003 AABB", "FFFFFFFF AABB", "80000000"])
    func nothingIsTakenOfTooFewBytes(text: String) {
        let bytes = [UInt8](hex: text)
        var rest = bytes.span
        let isRead = rest.readLengthPrefixed() != nil
        #expect(!isRead)
        let wide = rest.readBigEndian(UInt64.self)
        #expect(wide == nil)
        let left = rest.count
        #expect(left == bytes.count)
    }
}
