internal import Glibc
internal import HostAPI
internal import Synchronization

/// Holds back the signals that would end the process, until a terminal is as it was before.
///
/// As in readpassphrase(3), handlers note the signals, which are raised again afterwards. Signals that the program
/// handles or ignores itself are left to it.
///
/// Several threads may hold them at a time: the last one to release them lets them through.
struct HeldSignals {
    /// The signals that end a process.
    static let ending = [SIGTERM, SIGHUP, SIGINT, SIGQUIT]

    private static let state = Mutex((holders: 0, held: [Int32]()))

    private let end: QuestionEnd

    /// - Parameter end: the end at which a wait is given up as for a signal.
    init(_ numbers: [Int32] = ending + [SIGTSTP], until end: QuestionEnd = QuestionEnd(at: nil)) {
        self.end = end
        Self.state.withLock { state in
            if state.holders == 0 { caught.store(0, ordering: .relaxed) }
            state.holders += 1
            state.held += numbers.filter { !state.held.contains($0) && Self.hold($0) }
        }
    }

    /// Whether one of the signals came, or the end.
    var hasCome: Bool { caught.load(ordering: .relaxed) != 0 || end.hasCome }

    /// Stops holding the signals, and raises those that came.
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

/// Signals that a terminal sends to all processes of a group: at certain keys, and when it is closed.
package enum TerminalSignals {
    private static let numbers = [SIGINT, SIGQUIT, SIGTSTP, SIGHUP]
    private static let areLeft = Atomic(false)

    /// Ignores the signals in a private host, which is in its client's process group: a client that survives them needs
    /// its host, which ends with the client. Child programs still have the default actions.
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
