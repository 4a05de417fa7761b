internal import Synchronization

/// The public keys that were read last, by their encoding: OpenSSL takes longer to read one than to check a signature with it.
///
/// A thread that meets another in here reads the key anew. So does a child by `fork` of a process in which one was: nobody waits.
enum PublicKeyCache {
    private static let capacity = 32
    private static let keys = Mutex<[PublicKey]>([])

    static subscript(spki: [UInt8]) -> PublicKey? {
        keys.withLockIfAvailable { keys in keys.first { $0.spki == spki } } ?? nil
    }

    static func insert(_ key: PublicKey) {
        keys.withLockIfAvailable { keys in
            guard !keys.contains(key) else { return }
            if keys.count == capacity { keys.removeFirst() }
            keys.append(key)
        }
    }
}
