import Glibc
import SecureBytes
import TestSupport
import Testing

@Suite struct SecretTests {
    /// Bytes that nothing else in the process holds in this order.
    private static func pattern(_ count: Int) -> [UInt8] {
        var state = UInt64.random(in: 1...UInt64.max)
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state)
        }
    }

    /// The bytes at an address, read through the kernel: an address that is no longer mapped gives none and no fault.
    private static func memory(at address: UInt, count: Int) -> [UInt8] {
        let file = open("/proc/self/mem", O_RDONLY)
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = pread(file, &bytes, count, Int(bitPattern: address))
        return Array(bytes.prefix(max(read, 0)))
    }

    private static func address(of secret: borrowing Secret) -> UInt {
        secret.bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }

    private static func text(_ secret: borrowing Secret) -> [UInt8] { Array(copying: secret.bytes) }

    @Test func holdsTheBytesItWasMadeOf() {
        for count in [0, 1, 6, 8, 255, 4095, 4096, 4097, 10_000] {
            let bytes = Self.pattern(count)
            let secret = Secret(copying: bytes.span)
            let shape = (secret.count, secret.isEmpty)
            #expect(shape == (count, count == 0))
            #expect(Self.text(secret) == bytes)
        }
    }

    @Test func nothingIsLeftOfItAtItsEnd() {
        let bytes = Self.pattern(64)
        let address: UInt
        do {
            let secret = Secret(copying: bytes.span)
            address = Self.address(of: secret)
            #expect(Self.memory(at: address, count: 64) == bytes)
        }
        #expect(Self.memory(at: address, count: 64) != bytes)
    }

    @Test func theArrayItConsumesIsOverwritten() {
        var bytes = Self.pattern(512)
        let tail = Array(bytes[256...])
        let address = bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        let secret = Secret(consuming: &bytes)
        // The memory is read first, because an array that is made later may get it.
        let left = Self.memory(at: address + 256, count: 256)
        #expect(left != tail)
        #expect(bytes.isEmpty)
        #expect(Array(Self.text(secret)[256...]) == tail)
    }

    @Test func isKeptOutOfCoreDumps() throws {
        let bytes = Self.pattern(16)
        let secret = Secret(copying: bytes.span)
        let flags = try #require(Self.flags(ofMappingAt: Self.address(of: secret)))
        #expect(flags.contains("dd"))
    }

    @Test func isFilledInPlaceUpToItsCapacity() throws {
        let secret = Secret(capacity: 8) { output in
            for byte: UInt8 in [1, 2, 3] { output.append(byte) }
        }
        #expect(Self.text(secret) == [1, 2, 3])
        let none = Secret(capacity: 0) { _ in }
        #expect(Self.text(none) == [])
    }

    @Test func anErrorWhileFillingComesThrough() {
        struct Interrupted: Error {}
        #expect(throws: Interrupted.self) {
            _ = try Secret(capacity: 8) { (output: inout OutputSpan<UInt8>) throws(Interrupted) in
                output.append(1)
                throw Interrupted()
            }
        }
    }

    @Test(
        arguments: [
            ([1, 2, 3], [1, 2, 3], true), ([1, 2, 3], [1, 2, 4], false), ([1, 2, 3], [0, 2, 3], false),
            ([1, 2, 3], [1, 2, 3, 0], false), ([1, 2, 3], [], false), ([], [], true),
        ] as [([UInt8], [UInt8], Bool)])
    func equalityIsOfBytes(left: [UInt8], right: [UInt8], expected: Bool) {
        let equal = Secret(copying: left.span).equals(Secret(copying: right.span))
        #expect(equal == expected)
    }

    @Test func aCloneLivesLongerThanItsOriginal() {
        var bytes: [UInt8] = [9, 8, 7]
        let clone = Secret(consuming: &bytes).clone()
        #expect(Self.text(clone) == [9, 8, 7])
    }

    @Test func aPINIsItsCharacters() {
        let pin = PIN("123456")
        let count = pin.count
        #expect(count == 6)
        #expect(Array(copying: pin.bytes) == Array("123456".utf8))
        #expect(Array(copying: pin.clone().bytes) == Array("123456".utf8))
    }

    /// The VmFlags line of the mapping that holds an address.
    private static func flags(ofMappingAt address: UInt) -> [Substring]? {
        guard let file = fopen("/proc/self/smaps", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 4096)
        var isInside = false
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let range = text.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            if range.count == 2 { isInside = range[0] <= address && address < range[1] }
            if isInside, text.hasPrefix("VmFlags:") { return text.split { $0 == " " || $0 == "\n" } }
        }
        return nil
    }
}
