internal import CCryptoki
internal import Synchronization

/// The memory that objects of sessions and running operations may take. A program that never destroys its objects must not take the
/// memory of the others that the host serves.
final class MemoryQuota: Sendable {
    struct Size {
        /// Each secret has memory pages of its own, of which the kernel lets a process have 65,530 (`vm.max_map_count`).
        var objects: Int
        var bytes: Int

        static let ofClient = Size(objects: 4_096, bytes: 64 << 20)
        static let ofProcess = Size(objects: 24_576, bytes: 1 << 30)
    }

    /// The quota of all clients of this process.
    static let shared = MemoryQuota(.ofProcess)

    private let size: Size
    private let whole: MemoryQuota?
    private let taken = Mutex(Size(objects: 0, bytes: 0))

    /// - Parameter whole: the quota of which this one is a part.
    init(_ size: Size, of whole: MemoryQuota? = nil) {
        self.size = size
        self.whole = whole
    }

    /// The share of an object.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY` where the quota is used up.
    func objectShare(bytes: Int) throws(CryptokiError) -> QuotaShare { try share(Size(objects: 1, bytes: bytes)) }

    /// An empty share for an operation. Operations are not counted, since the limit of sessions bounds their number.
    func operationShare() throws(CryptokiError) -> QuotaShare { try share(Size(objects: 0, bytes: 0)) }

    private func share(_ size: Size) throws(CryptokiError) -> QuotaShare {
        let rest = try whole?.share(size)
        try take(size)
        return QuotaShare(size, of: self, rest)
    }

    fileprivate func take(_ more: Size) throws(CryptokiError) {
        let isTaken = taken.withLock { taken in
            guard more.objects <= size.objects - taken.objects, more.bytes <= size.bytes - taken.bytes else {
                return false
            }
            taken.objects += more.objects
            taken.bytes += more.bytes
            return true
        }
        guard isTaken else {
            throw CryptokiError(
                CKR_DEVICE_MEMORY,
                "\(whole == nil ? "all programs" : "this program") may have \(size.objects) objects of sessions at a time, in \(size.bytes >> 20) MiB"
            )
        }
    }

    fileprivate func release(_ less: Size) {
        taken.withLock { taken in
            taken.objects -= less.objects
            taken.bytes -= less.bytes
        }
    }
}

/// The share of a quota for one object or operation, until the last reference to it ends.
final class QuotaShare: Sendable {
    private let taken: Mutex<MemoryQuota.Size>
    private let quota: MemoryQuota
    private let rest: QuotaShare?

    fileprivate init(_ size: MemoryQuota.Size, of quota: MemoryQuota, _ rest: QuotaShare?) {
        taken = Mutex(size)
        self.quota = quota
        self.rest = rest
    }

    /// Takes more of the quota, or less by a negative number.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`; what was taken before is kept.
    func grow(by more: Int) throws(CryptokiError) {
        try rest?.grow(by: more)
        do throws(CryptokiError) {
            try quota.take(MemoryQuota.Size(objects: 0, bytes: more))
        } catch {
            rest?.shrink(by: more)
            throw error
        }
        taken.withLock { $0.bytes += more }
    }

    private func shrink(by less: Int) {
        taken.withLock { $0.bytes -= less }
        quota.release(MemoryQuota.Size(objects: 0, bytes: less))
        rest?.shrink(by: less)
    }

    deinit { quota.release(taken.withLock { $0 }) }
}
