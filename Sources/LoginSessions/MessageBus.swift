internal import CSystemd
internal import Glibc

/// A connection to a message bus, for one thread. Wraps sd-bus(3).
@safe
struct MessageBus: ~Copyable {
    private let systemd: UnsafePointer<csystemd>
    private let bus: OpaquePointer

    private init(_ bus: OpaquePointer, _ systemd: UnsafePointer<csystemd>) {
        unsafe (self.bus, self.systemd) = (bus, systemd)
    }

    /// Wraps sd_bus_start.
    ///
    /// - Parameter address: an address of the D-Bus specification, "Server Addresses".
    static func connect(
        to address: String, _ systemd: UnsafePointer<csystemd>
    ) throws(BusError) -> MessageBus {
        var created: OpaquePointer?
        try BusError.check(unsafe systemd.pointee.bus_new(&created))
        guard let created = unsafe created else { throw BusError(code: ENOMEM) }
        let bus = unsafe MessageBus(created, systemd)
        try BusError.check(unsafe systemd.pointee.bus_set_address(created, address))
        try BusError.check(unsafe systemd.pointee.bus_set_bus_client(created, 1))
        try BusError.check(unsafe systemd.pointee.bus_start(created))
        return bus
    }

    deinit { _ = unsafe systemd.pointee.bus_close_unref(bus) }

    /// The descriptor and the events to wait for with poll(2); after one of them ``next()`` may find a message.
    var polled: pollfd {
        pollfd(
            fd: unsafe systemd.pointee.bus_get_fd(bus),
            events: Int16(truncatingIfNeeded: unsafe systemd.pointee.bus_get_events(bus)), revents: 0)
    }

    /// The next message; nil once all that have come are read.
    func next() throws(BusError) -> BusMessage? {
        while true {
            var message: OpaquePointer?
            let result = try BusError.check(unsafe systemd.pointee.bus_process(bus, &message))
            if let message = unsafe message { return unsafe BusMessage(message, systemd) }
            if result == 0 { return nil }
        }
    }

    /// Calls a method whose arguments are strings, and waits for its answer.
    ///
    /// - Parameters:
    ///   - destination: the name of the program on the bus.
    ///   - patience: the microseconds in which the answer must come.
    func call(
        _ member: String, of interface: String, at path: String, on destination: String, _ arguments: [String] = [],
        patience: UInt64 = 5_000_000
    ) throws(BusError) -> BusMessage {
        try call(member, of: interface, at: path, on: destination, patience: patience) { call throws(BusError) in
            for argument in arguments { try call.append(argument) }
        }
    }

    /// Calls a method, and waits for its answer.
    ///
    /// - Parameters:
    ///   - patience: the microseconds in which the answer must come.
    ///   - write: writes the arguments.
    func call(
        _ member: String, of interface: String, at path: String, on destination: String, patience: UInt64,
        _ write: (borrowing BusMessage) throws(BusError) -> Void
    ) throws(BusError) -> BusMessage {
        var created: OpaquePointer?
        try BusError.check(
            unsafe systemd.pointee.bus_message_new_method_call(
                bus, &created, destination, path, interface, member))
        guard let created = unsafe created else { throw BusError(code: ENOMEM) }
        let call = unsafe BusMessage(created, systemd)
        try write(call)
        var answer: OpaquePointer?
        try BusError.check(unsafe systemd.pointee.bus_call(bus, created, patience, nil, &answer))
        _ = consume call
        guard let answer = unsafe answer else { throw BusError(code: EBADMSG) }
        return unsafe BusMessage(answer, systemd)
    }
}
