internal import Glibc
internal import SecureBytes
internal import Synchronization

/// The answer to the key of a terminal that interrupts a command (SIGINT).
enum Interruption {
    /// Has an interruption write a sentence before it ends the process. A process that ignores the signal goes on ignoring it.
    static func announce(_ sentence: String) {
        var current = sigaction()
        // SIG_DFL is the null pointer.
        guard unsafe sigaction(SIGINT, nil, &current) == 0, unsafe current.__sigaction_handler.sa_handler == nil else {
            return
        }
        let line = (StandardError.isInteractive ? "\r\u{1B}[K" : "") + "tokenctl: \(DisplayText.line(sentence))\n"
        // It stays until the process ends, since the handler may be reading it.
        unsafe answer.store(UInt(bitPattern: strdup(line)), ordering: .sequentiallyConsistent)
        signal(SIGINT, answerInterruption)
    }

    /// Has an interruption end the process at once again.
    static func forget() {
        guard answer.exchange(0, ordering: .sequentiallyConsistent) != 0 else { return }
        signal(SIGINT, SIG_DFL)
    }
}

/// The address of the sentence; 0 for none.
private let answer = Atomic<UInt>(0)

/// Calls only what a handler of signals may, signal-safety(7).
private func answerInterruption(_ number: Int32) {
    if let line = unsafe UnsafePointer<CChar>(bitPattern: answer.load(ordering: .sequentiallyConsistent)) {
        _ = unsafe write(STDERR_FILENO, line, strlen(line))
    }
    signal(number, SIG_DFL)
    kill(getpid(), number)
}
