internal import CCryptoki
internal import Synchronization

/// The room for objects that end with their sessions, and for what operations keep. A program that never destroys its objects must not
/// take the memory of the others that the host serves.
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

    /// The room of an object.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY` where there is no room.
    func take(bytes: Int) throws(CryptokiError) -> ObjectShare { try share(Size(objects: 1, bytes: bytes)) }

    /// An empty share for an operation. Operations are not counted, since the limit of sessions bounds their number.
    func share() throws(CryptokiError) -> ObjectShare { try share(Size(objects: 0, bytes: 0)) }

    private func share(_ size: Size) throws(CryptokiError) -> ObjectShare {
        let rest = try whole?.share(size)
        try take(size)
        return ObjectShare(size, of: self, rest)
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

/// The room that one object or operation takes. It is free again with the last reference to this.
final class ObjectShare: Sendable {
    private let taken: Mutex<ObjectRoom.Size>
    private let room: ObjectRoom
    private let rest: ObjectShare?

    fileprivate init(_ size: ObjectRoom.Size, of room: ObjectRoom, _ rest: ObjectShare?) {
        taken = Mutex(size)
        self.room = room
        self.rest = rest
    }

    /// Takes more room.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`; what was taken before is kept.
    func grow(by more: Int) throws(CryptokiError) {
        try rest?.grow(by: more)
        do throws(CryptokiError) {
            try room.take(ObjectRoom.Size(objects: 0, bytes: more))
        } catch {
            rest?.shrink(by: more)
            throw error
        }
        taken.withLock { $0.bytes += more }
    }

    private func shrink(by less: Int) {
        taken.withLock { $0.bytes -= less }
        room.giveBack(ObjectRoom.Size(objects: 0, bytes: less))
        rest?.shrink(by: less)
    }

    deinit { room.giveBack(taken.withLock { $0 }) }
}
