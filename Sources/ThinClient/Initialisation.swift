internal import CThinClient

/// The process and the round in which the library was initialised, in one word that a child by `fork` can read without a lock.
enum Initialisation {
    /// Nil where this process has not initialised the library, whatever its parent did.
    static var current: UInt64? {
        let value = tokenkit_load(word)
        return isOwn(value) && value & (unfinished | ending) == 0 ? value : nil
    }

    /// Whether the library is still in the initialisation in which a call began. Asks no process id: a forked child runs no call that its
    /// parent began.
    static func isCurrent(_ value: UInt64) -> Bool { tokenkit_load(word) == value }

    /// Whether the initialisation has its connections: it is current, or its end is about to close them.
    static func hasNotEnded(_ value: UInt64) -> Bool { tokenkit_load(word) & ~ending == value }

    /// - Returns: false where this process has initialised the library before.
    static func begin() -> Bool {
        let before = tokenkit_load(word)
        guard !isOwn(before) else { return begunElsewhere() }
        tokenkit_wipe_on_fork()
        let round = (tokenkit_load(rounds) &+ 1) & 0x3FFF_FFFF
        let value = UInt64(UInt32(bitPattern: getpid())) << 32 | round << 1
        guard tokenkit_replace(word, before, value | unfinished) != 0 else { return begunElsewhere() }
        tokenkit_store(rounds, round)
        // In a child by fork the connections are copies of its parent's, which no thread of the child has taken yet: they are
        // dropped, whatever the parent was doing, and whether or not its library was initialised.
        let process = UInt64(UInt32(bitPattern: getpid()))
        if tokenkit_load(owner) != process {
            Connections.forget()
            Client.forget()
        }
        tokenkit_store(owner, process)
        HostSearch.FailedStarts.forget()
        tokenkit_store(word, value)
        return true
    }

    /// The result of a second thread. Waits until the first thread has initialised the library, since the second one may call it right
    /// after.
    private static func begunElsewhere() -> Bool {
        var looks = 1_000
        while looks > 0, isOwn(tokenkit_load(word)), tokenkit_load(word) & unfinished != 0 {
            usleep(1_000)
            looks -= 1
        }
        return false
    }

    /// Begins the end of an initialisation: from now on it is not the present one, so that calls which the host ends fail as calls
    /// of a library that is not initialised.
    ///
    /// - Returns: false where the initialisation is not the present one.
    static func beginEnd(_ value: UInt64) -> Bool { tokenkit_replace(word, value, value | ending) != 0 }

    static func end(_ value: UInt64) { _ = tokenkit_replace(word, value | ending, 0) }

    private static var word: Int32 { Int32(tokenkit_word_initialisation) }
    private static var owner: Int32 { Int32(tokenkit_word_process) }
    private static var rounds: Int32 { Int32(tokenkit_word_rounds) }
    private static var unfinished: UInt64 { 1 }
    private static var ending: UInt64 { 1 << 31 }

    /// Whether the value has the id of this process. A parent's word is gone where the kernel wipes it.
    private static func isOwn(_ value: UInt64) -> Bool { process(of: value) == UInt64(UInt32(bitPattern: getpid())) }

    /// Whether a connection that was made in a round is of this process, and not of a parent.
    static func isOfOwner(_ value: UInt64) -> Bool { isOwn(value) && process(of: value) == tokenkit_load(owner) }

    private static func process(of value: UInt64) -> UInt64 { value >> 32 }
}
