internal import Synchronization

/// The public keys that were read last, by their encoding, since OpenSSL takes longer to read a key than to verify a signature
/// with it.
///
/// No thread waits here: where another thread holds the lock, also one of a parent at `fork`, the key is read again.
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
