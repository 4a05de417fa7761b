internal import Glibc

/// Bytes that must not outlive their use: a PIN, a password, a private key.
///
/// The buffer has memory pages of its own, kept out of swap, core dumps and children by `fork` where the system allows it, and is
/// overwritten with zeros when the value ends. A secret can be neither copied nor printed.
@safe
public struct Secret: ~Copyable, @unchecked Sendable {
    /// The room for the bytes, and ``mark`` in the byte behind it.
    private let memory: UnsafeMutableRawBufferPointer
    private let length: Int

    /// Shows that the memory holds the secret. A child by `fork` finds zero in its place, and must not encrypt with a secret of
    /// zeros.
    private static let mark: UInt8 = 0xFF

    /// The number of bytes; 0 in a child by `fork`, which does not have its parent's secrets.
    public var count: Int { unsafe memory.last == Secret.mark ? length : 0 }

    /// Makes a secret of at most `capacity` bytes that `body` fills in place.
    public init<E: Error>(
        capacity: Int, initializingWith body: (inout OutputSpan<UInt8>) throws(E) -> Void
    ) throws(E) {
        unsafe memory = SecretPages.take(for: capacity > 0 ? capacity + 1 : 0)
        let buffer = unsafe UnsafeMutableBufferPointer(
            start: memory.baseAddress?.bindMemory(to: UInt8.self, capacity: memory.count), count: max(capacity, 0))
        var output = unsafe OutputSpan(buffer: buffer, initializedCount: 0)
        do {
            try body(&output)
        } catch {
            unsafe SecretPages.giveBack(memory)
            throw error
        }
        length = unsafe output.finalize(for: buffer)
        if let last = unsafe memory.indices.last { unsafe memory[last] = Secret.mark }
    }

    /// Makes a secret from bytes that the caller remains responsible for.
    public init(copying bytes: Span<UInt8>) {
        self.init(capacity: bytes.count) { $0.append(bytes) }
    }

    /// Makes a secret from the bytes of both, one after the other.
    package init(joining first: Span<UInt8>, _ second: Span<UInt8>) {
        self.init(capacity: first.count + second.count) { output in
            output.append(first)
            output.append(second)
        }
    }

    /// Moves an array's bytes into a secret, and overwrites the array. Another array that shares the bytes keeps them.
    public init(consuming bytes: inout [UInt8]) {
        self.init(copying: bytes.span)
        bytes.wipe()
    }

    deinit {
        unsafe SecretPages.giveBack(memory)
    }

    /// Whether the secret has no bytes.
    public var isEmpty: Bool { count == 0 }

    /// The bytes, for as long as the secret is borrowed.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let start = unsafe UnsafePointer<UInt8>(memory.baseAddress?.assumingMemoryBound(to: UInt8.self))
            let span = unsafe Span(_unsafeStart: start ?? Secret.emptyAddress, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// A second secret of the same bytes.
    public borrowing func clone() -> Secret {
        Secret(copying: bytes)
    }

    /// The bytes as an array, for bytes that are not secret, such as a signature, or for an interface that only takes arrays.
    package borrowing func copied() -> [UInt8] {
        Array(copying: bytes)
    }

    /// Whether both hold the same bytes, in a time that does not depend on where they differ.
    public borrowing func equals(_ other: borrowing Secret) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        let (left, right) = (bytes, other.bytes)
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }

    private static var emptyAddress: UnsafePointer<UInt8> {
        // An empty span needs an address too, which is never read.
        unsafe UnsafePointer(bitPattern: 1).unsafelyUnwrapped
    }
}

extension [UInt8] {
    /// Overwrites the bytes with zeros and empties the array. Another array that shares them keeps a copy.
    package mutating func wipe() {
        unsafe withUnsafeMutableBytes { buffer in
            if let start = buffer.baseAddress { unsafe explicit_bzero(start, buffer.count) }
        }
        self = []
    }
}
