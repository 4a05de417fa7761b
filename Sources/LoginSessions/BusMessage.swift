internal import CSystemd
internal import Glibc

/// A message, whose contents are read in their order. Each read names the expected type, and fails for another one.
@safe
struct BusMessage: ~Copyable {
    private let systemd: UnsafePointer<csystemd>
    private let message: OpaquePointer

    /// A container of the D-Bus specification, "Container types", by the code that sd-bus has for it.
    enum Container: UInt8 {
        case array = 0x61
        case structure = 0x72
        case dictionaryEntry = 0x65
        case variant = 0x76
    }

    /// Takes a message over.
    init(_ message: OpaquePointer, _ systemd: UnsafePointer<csystemd>) {
        unsafe (self.message, self.systemd) = (message, systemd)
    }

    deinit { _ = unsafe systemd.pointee.bus_message_unref(message) }

    /// The unique name of the sender, which the bus vouches for.
    var sender: String? { unsafe text(systemd.pointee.bus_message_get_sender(message)) }

    /// The path of the object that sends a signal.
    var path: String? { unsafe text(systemd.pointee.bus_message_get_path(message)) }

    func isSignal(_ member: String, of interface: String) -> Bool {
        unsafe systemd.pointee.bus_message_is_signal(message, interface, member) > 0
    }

    // MARK: Writing

    /// - Parameter string: without a zero byte, at which it would end.
    func append(_ string: String) throws(BusError) {
        let result = unsafe string.withCString {
            unsafe systemd.pointee.bus_message_append_basic(message, code("s"), $0)
        }
        try BusError.check(result)
    }

    func append(_ number: UInt32) throws(BusError) { try append(code("u"), number) }

    func append(_ number: Int32) throws(BusError) { try append(code("i"), number) }

    func append(_ number: UInt8) throws(BusError) { try append(code("y"), number) }

    func append(_ flag: Bool) throws(BusError) { try append(code("b"), flag ? 1 as Int32 : 0) }

    /// Writes a container.
    ///
    /// - Parameter contents: the types in it.
    func append(
        _ container: Container, _ contents: String, _ body: (borrowing BusMessage) throws(BusError) -> Void
    ) throws(BusError) {
        let kind = CChar(bitPattern: container.rawValue)
        try BusError.check(unsafe systemd.pointee.bus_message_open_container(message, kind, contents))
        try body(self)
        try BusError.check(unsafe systemd.pointee.bus_message_close_container(message))
    }

    private func append<Value: BitwiseCopyable>(_ type: CChar, _ value: Value) throws(BusError) {
        let result = unsafe withUnsafePointer(to: value) {
            unsafe systemd.pointee.bus_message_append_basic(message, type, $0)
        }
        try BusError.check(result)
    }

    // MARK: Reading

    func string() throws(BusError) -> String { try string(code("s")) }

    func objectPath() throws(BusError) -> String { try string(code("o")) }

    func number() throws(BusError) -> UInt32 {
        var number: UInt32 = 0
        try read(code("u"), &number)
        return number
    }

    func flag() throws(BusError) -> Bool {
        var flag: Int32 = 0
        try read(code("b"), &flag)
        return flag != 0
    }

    /// A descriptor, which the caller closes.
    func descriptor() throws(BusError) -> Int32 {
        var borrowed: Int32 = -1
        try read(code("h"), &borrowed)
        let own = fcntl(borrowed, F_DUPFD_CLOEXEC, 3)
        guard own >= 0 else { throw BusError(code: errno) }
        return own
    }

    /// - Parameter types: complete types.
    func skip(_ types: String) throws(BusError) {
        try BusError.check(unsafe systemd.pointee.bus_message_skip(message, types))
    }

    /// Reads each element of an array.
    ///
    /// - Parameter contents: the type of an element.
    func each(_ contents: String, _ body: (borrowing BusMessage) throws(BusError) -> Void) throws(BusError) {
        try inside(.array, contents) { message throws(BusError) in
            while unsafe systemd.pointee.bus_message_at_end(self.message, 0) == 0 { try body(message) }
        }
    }

    /// Reads a container.
    ///
    /// - Parameter contents: the types in it.
    func inside(
        _ container: Container, _ contents: String, _ body: (borrowing BusMessage) throws(BusError) -> Void
    ) throws(BusError) {
        let kind = CChar(bitPattern: container.rawValue)
        guard try BusError.check(unsafe systemd.pointee.bus_message_enter_container(message, kind, contents)) > 0 else {
            throw BusError(code: ENXIO)
        }
        try body(self)
        try BusError.check(unsafe systemd.pointee.bus_message_exit_container(message))
    }

    private func string(_ type: CChar) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        try unsafe read(type, &text)
        return unsafe self.text(text) ?? ""
    }

    private func read<Value>(_ type: CChar, _ value: inout Value) throws(BusError) {
        let result = unsafe withUnsafeMutablePointer(to: &value) {
            unsafe systemd.pointee.bus_message_read_basic(message, type, $0)
        }
        guard try BusError.check(result) > 0 else { throw BusError(code: ENXIO) }
    }

    private func text(_ text: UnsafePointer<CChar>?) -> String? { unsafe text.map { unsafe String(cString: $0) } }

    private func code(_ type: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: type.value) }
}
