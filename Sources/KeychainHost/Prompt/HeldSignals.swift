internal import Glibc
internal import Synchronization

/// Holds back the signals that would end the process, until a terminal is as it was before.
///
/// As readpassphrase(3) does: handlers for as long as it takes, then the signals again. Signals that the program handles
/// or ignores itself are left to it.
struct HeldSignals {
    /// Those that end a process.
    static let ending = [SIGTERM, SIGHUP, SIGINT, SIGQUIT]

    private let held: [Int32]

    init(_ numbers: [Int32] = ending + [SIGTSTP]) {
        caught.store(0, ordering: .relaxed)
        held = numbers.filter { number in
            var current = sigaction()
            guard unsafe sigaction(number, nil, &current) == 0,
                // SIG_DFL is the null pointer.
                unsafe current.__sigaction_handler.sa_handler == nil
            else { return false }
            var handler = sigaction()
            unsafe handler.__sigaction_handler.sa_handler = note
            return unsafe sigaction(number, &handler, nil) == 0
        }
    }

    /// Whether one of them came.
    var hasCome: Bool { caught.load(ordering: .relaxed) != 0 }

    /// Lets the signals through, those that came included.
    func release() {
        for number in held {
            var standard = sigaction()
            unsafe standard.__sigaction_handler.sa_handler = nil
            _ = unsafe sigaction(number, &standard, nil)
        }
        let come = caught.exchange(0, ordering: .relaxed)
        for number in held where come & (1 << UInt64(number)) != 0 { kill(getpid(), number) }
    }
}

/// A bit for each signal that came.
private let caught = Atomic<UInt64>(0)

private func note(_ number: Int32) {
    caught.bitwiseOr(1 << UInt64(number), ordering: .relaxed)
}
