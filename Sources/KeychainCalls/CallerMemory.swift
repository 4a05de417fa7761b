package import KeychainModel
internal import Glibc
internal import Localization
internal import SecureBytes

/// Memory with passwords and attributes that C code holds and returns. The length is stored before it, so that it can be
/// overwritten when it is freed.
package enum CallerMemory {
    /// The length of the header in bytes, which keeps the memory after it aligned for any type.
    private static let headerLength = 16

    /// A copy of bytes, secret or not.
    package static func copy(_ bytes: Span<UInt8>) throws(KeychainError) -> UnsafeMutableRawPointer {
        let memory = try unsafe allocate(bytes.count)
        unsafe bytes.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { unsafe memory.copyMemory(from: start, byteCount: bytes.count) }
        }
        return unsafe memory
    }

    /// Zeroed memory with one more byte than asked for, so that text ends with a zero in C.
    private static func allocate(_ count: Int) throws(KeychainError) -> UnsafeMutableRawPointer {
        guard let block = unsafe calloc(1, headerLength + count + 1) else { throw KeychainError(.allocate) }
        unsafe block.storeBytes(of: count, as: Int.self)
        return unsafe block + headerLength
    }

    /// Overwrites and frees memory that this type has allocated.
    package static func free(_ memory: UnsafeMutableRawPointer?) {
        guard let memory = unsafe memory else { return }
        let block = unsafe memory - headerLength
        let count = unsafe block.load(as: Int.self)
        unsafe explicit_bzero(memory, count)
        unsafe Glibc.free(block)
    }
}

extension AttributeValue {
    /// Text of a given length from the caller of a C function; nil for a null pointer. Bytes that are not UTF-8 stay
    /// data.
    ///
    /// - Throws: `errSecParam` for a length without a text.
    @unsafe package static func callers(
        _ text: UnsafePointer<CChar>?, length: UInt32, of attribute: Attribute
    ) throws(KeychainError) -> AttributeValue? {
        guard let text = unsafe text else {
            guard length == 0 else {
                throw KeychainError(.param, "there is a length but no text", key: attribute.rawValue)
            }
            return nil
        }
        return AttributeValue(unsafe [UInt8](UnsafeRawBufferPointer(start: text, count: Int(length))))
    }

    /// Text where the bytes are UTF-8, else data.
    package init(_ bytes: [UInt8]) {
        self = String(validating: bytes, as: UTF8.self).map { .string($0) } ?? .data(bytes)
    }
}
