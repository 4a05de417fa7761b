internal import CThinClient

extension [UInt8] {
    init(text: UnsafePointer<CChar>) {
        self = []
        var next = unsafe text
        while unsafe next.pointee != 0 {
            append(UInt8(bitPattern: unsafe next.pointee))
            unsafe next += 1
        }
    }

    init(_ text: StaticString) {
        self = []
        append(text)
    }

    mutating func append(_ text: StaticString) {
        for index in 0..<text.utf8CodeUnitCount { append(unsafe text.utf8Start[index]) }
    }

    /// A function's name without its labels.
    mutating func append(name: StaticString) {
        for index in 0..<name.utf8CodeUnitCount {
            let byte = unsafe name.utf8Start[index]
            if byte == 0x28 { return }
            append(byte)
        }
    }

    mutating func append(decimal number: UInt64) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(truncatingIfNeeded: number % 10) + 0x30)
    }
}
