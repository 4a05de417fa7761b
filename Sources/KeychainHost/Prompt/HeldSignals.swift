internal import Glibc
internal import Synchronization

/// Holds back the signals that would end the process, until a terminal is as it was before.
///
/// As readpassphrase(3) does: handlers for as long as it takes, then the signals again. Signals that the program handles
/// or ignores itself are left to it.
///
/// Several threads may hold them at a time: the last to be done lets them through.
struct HeldSignals {
    /// The signals that end a process.
    static let ending = [SIGTERM, SIGHUP, SIGINT, SIGQUIT]

    private static let state = Mutex((holders: 0, held: [Int32]()))

    init(_ numbers: [Int32] = ending + [SIGTSTP]) {
        Self.state.withLock { state in
            if state.holders == 0 { caught.store(0, ordering: .relaxed) }
            state.holders += 1
            state.held += numbers.filter { !state.held.contains($0) && Self.hold($0) }
        }
    }

    /// Whether one of them came.
    var hasCome: Bool { caught.load(ordering: .relaxed) != 0 }

    /// Lets the signals through, those that came included.
    func release() {
        let come = Self.state.withLock { state in
            state.holders -= 1
            guard state.holders == 0 else { return [Int32]() }
            state.held.forEach(Self.letGo)
            let come = caught.exchange(0, ordering: .relaxed)
            defer { state.held = [] }
            return state.held.filter { come & (1 << UInt64($0)) != 0 }
        }
        for number in come { kill(getpid(), number) }
    }

    private static func hold(_ number: Int32) -> Bool {
        var current = sigaction()
        guard unsafe sigaction(number, nil, &current) == 0,
            // SIG_DFL is the null pointer.
            unsafe current.__sigaction_handler.sa_handler == nil || TerminalSignals.areLeft(number)
        else { return false }
        var handler = sigaction()
        unsafe handler.__sigaction_handler.sa_handler = note
        return unsafe sigaction(number, &handler, nil) == 0
    }

    private static func letGo(_ number: Int32) {
        var former = sigaction()
        unsafe former.__sigaction_handler.sa_handler = TerminalSignals.areLeft(number) ? passOver : nil
        _ = unsafe sigaction(number, &former, nil)
    }
}

/// Signals that a terminal sends to all processes of a group: for its keys, and at its end.
package enum TerminalSignals {
    private static let numbers = [SIGINT, SIGQUIT, SIGTSTP, SIGHUP]
    private static let areLeft = Atomic(false)

    /// Leaves the signals to the client, in whose process group its private host is: a client that lives on needs its
    /// host, which ends with it. Child programs have them by default all the same.
    package static func leaveToClient() {
        areLeft.store(true, ordering: .relaxed)
        for number in numbers {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_handler = passOver
            _ = unsafe sigaction(number, &action, nil)
        }
    }

    fileprivate static func areLeft(_ number: Int32) -> Bool {
        areLeft.load(ordering: .relaxed) && numbers.contains(number)
    }
}

private func passOver(_ number: Int32) {}

/// A bit for each signal that came.
private let caught = Atomic<UInt64>(0)

private func note(_ number: Int32) {
    caught.bitwiseOr(1 << UInt64(number), ordering: .relaxed)
}
