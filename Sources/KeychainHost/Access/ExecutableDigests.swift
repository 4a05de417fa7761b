internal import Platform
internal import SystemCrypto
internal import Synchronization

/// The SHA-256 digests of programs' files, each computed once for as long as the file is not written to.
final class ExecutableDigests: Sendable {
    static let shared = ExecutableDigests()

    private let known = Mutex(RecentEntries<FileState, [UInt8]>(limit: 64))

    /// The most that is read of a file, in bytes. A longer file has no digest.
    private static let maximumSize = 1 << 30

    /// - Returns: nil where the file cannot be read.
    func digest(of file: borrowing OpenExecutable) -> [UInt8]? {
        let state = file.state
        if let digest = known.withLock({ $0[state] }) { return digest }
        // The lock is not held meanwhile: a file system in user space can take any time.
        guard let digest = file.withContent(ExecutableDigests.digest) else { return nil }
        known.withLock { $0[state] = digest }
        return digest
    }

    private static func digest(_ descriptor: Int32) -> [UInt8]? {
        guard var context = try? DigestContext(.sha256) else { return nil }
        var rest = maximumSize
        while true {
            guard let part = try? Descriptor.read(descriptor, limit: partSize - 1), rest >= part.count,
                (try? context.update(part)) != nil
            else { return nil }
            rest -= part.count
            if part.count < partSize { return try? context.finalize() }
        }
    }

    private static let partSize = 1 << 20
}

/// The entries that were set last, up to a limit.
struct RecentEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var values: [Key: Value] = [:]
    /// The one that was set first comes first.
    private var order: [Key] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { order.count }

    /// The entries, that which was set first at the start.
    var entries: [(key: Key, value: Value)] { order.compactMap { key in values[key].map { (key, $0) } } }

    mutating func removeAll(where isRemoved: (Key, Value) -> Bool) {
        for (key, value) in entries where isRemoved(key, value) { self[key] = nil }
    }

    subscript(key: Key) -> Value? {
        get { values[key] }
        set {
            if values[key] != nil { order.removeAll { $0 == key } }
            values[key] = newValue
            guard newValue != nil else { return }
            order.append(key)
            if order.count > limit { values[order.removeFirst()] = nil }
        }
    }
}
