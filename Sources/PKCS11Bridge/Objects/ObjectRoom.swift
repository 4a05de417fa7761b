internal import CCryptoki
internal import Synchronization

/// The room for objects that end with their sessions. A program that never destroys its objects must not take the memory of the
/// others that the host serves.
final class ObjectRoom: Sendable {
    struct Size {
        /// Each secret has memory pages of its own, of which the kernel lets a process have 65,530 (`vm.max_map_count`).
        var objects: Int
        var bytes: Int

        static let ofClient = Size(objects: 4_096, bytes: 64 << 20)
        static let ofProcess = Size(objects: 24_576, bytes: 1 << 30)
    }

    /// The room of all clients of this process.
    static let shared = ObjectRoom(.ofProcess)

    private let size: Size
    private let whole: ObjectRoom?
    private let taken = Mutex(Size(objects: 0, bytes: 0))

    /// - Parameter whole: the room of which this is a part.
    init(_ size: Size, of whole: ObjectRoom? = nil) {
        self.size = size
        self.whole = whole
    }

    /// - Throws: `CKR_DEVICE_MEMORY` where there is no room.
    func take(bytes: Int) throws(CryptokiError) -> ObjectShare {
        let rest = try whole?.take(bytes: bytes)
        try take(Size(objects: 1, bytes: bytes))
        return ObjectShare(bytes: bytes, of: self, rest)
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

    fileprivate func giveBack(_ less: Size) {
        taken.withLock { taken in
            taken.objects -= less.objects
            taken.bytes -= less.bytes
        }
    }
}

/// The room that one object takes. It is free again with the last reference to this.
final class ObjectShare: Sendable {
    private let bytes: Mutex<Int>
    private let room: ObjectRoom
    private let rest: ObjectShare?

    fileprivate init(bytes: Int, of room: ObjectRoom, _ rest: ObjectShare?) {
        self.bytes = Mutex(bytes)
        self.room = room
        self.rest = rest
    }

    /// Takes more room for the same object.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`; the object keeps what it had.
    func grow(by more: Int) throws(CryptokiError) {
        try rest?.grow(by: more)
        do throws(CryptokiError) {
            try room.take(ObjectRoom.Size(objects: 0, bytes: more))
        } catch {
            rest?.shrink(by: more)
            throw error
        }
        bytes.withLock { $0 += more }
    }

    private func shrink(by less: Int) {
        bytes.withLock { $0 -= less }
        room.giveBack(ObjectRoom.Size(objects: 0, bytes: less))
        rest?.shrink(by: less)
    }

    deinit { room.giveBack(ObjectRoom.Size(objects: 1, bytes: bytes.withLock { $0 })) }
}
