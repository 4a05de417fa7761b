internal import Glibc
internal import Wire

/// Descriptors that come with a message: unix(7), SCM_RIGHTS.
enum Descriptors {
    /// The descriptor that comes with a message for a further connection.
    ///
    /// - Returns: nil where the other side is gone, or sent something else. A partial message counts as such: whole ones arrive
    ///   at once.
    static func receive(from socket: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        // The header and one descriptor: CMSG_SPACE(sizeof(int)).
        var control = [UInt64](repeating: 0, count: 3)
        var descriptors: [Int32] = []
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe control.withUnsafeMutableBytes { control in
                var part = unsafe iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return unsafe withUnsafeMutablePointer(to: &part) { part in
                    var message = unsafe msghdr()
                    unsafe message.msg_iov = part
                    unsafe message.msg_iovlen = 1
                    unsafe message.msg_control = control.baseAddress
                    unsafe message.msg_controllen = control.count
                    let flags = Int32(MSG_CMSG_CLOEXEC) | Int32(MSG_DONTWAIT)
                    let count = unsafe recvmsg(socket, &message, flags)
                    if count > 0 { descriptors = unsafe Descriptors.all(in: control, message.msg_controllen) }
                    return count
                }
            }
        }
        guard count == bytes.count, let header = try? FrameHeader(parsing: bytes), header.kind == .connection,
            header.number == 0, header.fieldCount == 0, header.secretCount == 0, descriptors.count == 1
        else {
            for descriptor in descriptors { close(descriptor) }
            return nil
        }
        return descriptors[0]
    }

    /// The descriptors in a control message of cmsg(3): its length (8 bytes), its level and its type (4 each), and then its data.
    private static func all(in control: UnsafeMutableRawBufferPointer, _ length: Int) -> [Int32] {
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
