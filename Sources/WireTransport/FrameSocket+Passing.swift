internal import Glibc
internal import Platform
package import Wire

// Descriptors that a client hands in over its first connection: unix(7), SCM_RIGHTS. They are the other ends of its further connections,
// and the file of a trace.
extension FrameSocket {
    /// A message on the first connection of a client.
    package enum HandedIn {
        case connection(FrameSocket)
        /// The descriptor of a trace's file, which the receiver closes.
        case trace(Int32)
        /// A connection for which this process had no descriptor left. The client finds it closed.
        case lost
        /// The end of the client, or something else than a descriptor. A part of a message counts as such: whole ones arrive at once.
        case end
    }

    /// The descriptor that the client hands in, which must be there.
    package func receiveHandedIn() -> HandedIn {
        var bytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        // The header and one descriptor: CMSG_SPACE(sizeof(int)).
        var control = [UInt64](repeating: 0, count: 3)
        var descriptors: [Int32] = []
        let count = unsafe FrameSocket.withMessage(&bytes, &control) { message, control in
            let count = unsafe recvmsg(descriptor, &message, Int32(MSG_CMSG_CLOEXEC) | Int32(MSG_DONTWAIT))
            if count > 0 { descriptors = unsafe FrameSocket.descriptors(in: control, message.msg_controllen) }
            return count
        }
        guard count == bytes.count, let header = try? FrameHeader(parsing: bytes),
            [.connection, .trace].contains(header.kind), header.number == 0, header.fieldCount == 0,
            header.secretCount == 0, descriptors.count <= 1
        else {
            for descriptor in descriptors { close(descriptor) }
            return .end
        }
        guard let descriptor = descriptors.first else { return header.kind == .connection ? .lost : .end }
        return header.kind == .connection ? .connection(FrameSocket(descriptor)) : .trace(descriptor)
    }

    /// The lowest descriptor of a program's connection: programs close low ones, or take them for their streams.
    package static let lowestOfPrograms: Int32 = 100

    /// Makes a further connection, whose other end the host serves from now on.
    ///
    /// - Returns: nil where the host is gone, or the process has no descriptor left.
    package func makeConnection() -> FrameSocket? {
        var ends: [Int32] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
        else { return nil }
        defer { close(ends[1]) }
        let moved = Descriptor.moved(ends[0], to: FrameSocket.lowestOfPrograms)
        guard moved >= 0 else { return nil }
        let connection = FrameSocket(moved)
        return pass(ends[1], as: .connection) ? connection : nil
    }

    /// Hands in a descriptor, which stays open here.
    ///
    /// - Parameter kind: the kind of message that carries it.
    /// - Returns: false where the host is gone, or does not read.
    package func pass(_ passed: Int32, as kind: FrameHeader.Kind) -> Bool {
        var bytes = FrameHeader(kind, number: 0, fieldCount: 0, secretCount: 0).encoded()
        // CMSG_LEN(sizeof(int)) and the level and type; then the descriptor.
        var control: [UInt64] = [
            20, UInt64(UInt32(SOL_SOCKET)) | UInt64(SCM_RIGHTS) << 32, UInt64(UInt32(bitPattern: passed)),
        ]
        let deadline = FrameSocket.deadline
        let count = unsafe FrameSocket.withMessage(&bytes, &control) { message, _ in
            while true {
                let count = unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN, wait(Int16(POLLOUT), until: deadline) { continue }
                return count
            }
        }
        return count == bytes.count
    }

    /// Calls `body` with the message of sendmsg(2) and recvmsg(2) that has these bytes and this control message.
    private static func withMessage(
        _ bytes: inout [UInt8], _ control: inout [UInt64],
        _ body: (inout msghdr, UnsafeMutableRawBufferPointer) -> Int
    ) -> Int {
        unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe control.withUnsafeMutableBytes { control in
                var part = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return unsafe withUnsafeMutablePointer(to: &part) { part in
                    var message = unsafe msghdr()
                    unsafe message.msg_iov = part
                    unsafe message.msg_iovlen = 1
                    unsafe message.msg_control = control.baseAddress
                    unsafe message.msg_controllen = control.count
                    return unsafe body(&message, control)
                }
            }
        }
    }

    /// The descriptors in a control message of cmsg(3): its length (8 bytes), its level and its type (4 each), and then its data.
    private static func descriptors(in control: UnsafeMutableRawBufferPointer, _ length: Int) -> [Int32] {
        guard length >= 20, length <= control.count else { return [] }
        let size = unsafe control.load(as: Int.self)
        let level = unsafe control.load(fromByteOffset: 8, as: Int32.self)
        let type = unsafe control.load(fromByteOffset: 12, as: Int32.self)
        guard level == SOL_SOCKET, type == Int32(SCM_RIGHTS), size <= length, size >= 20 else { return [] }
        return stride(from: 16, through: size - 4, by: 4).map {
            unsafe control.load(fromByteOffset: $0, as: Int32.self)
        }
    }
}
