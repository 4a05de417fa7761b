internal import Glibc
internal import SystemCrypto

/// The system's random generator.
public struct SecRandom: Sendable {}

public typealias SecRandomRef = SecRandom

public let kSecRandomDefault: SecRandomRef? = nil

/// Fills memory with random bytes.
@discardableResult
public func SecRandomCopyBytes(_ random: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer) -> Int32 {
    guard count >= 0 else { return errSecParam }
    guard let random = try? RandomBytes.make(count: count) else { return errSecInternal }
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count).copyBytes(from: random)
    return errSecSuccess
}
