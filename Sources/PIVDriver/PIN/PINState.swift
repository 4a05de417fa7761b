internal import SecureBytes
internal import SystemCrypto

/// What is believed of a card's PINs. It is a value: what a card answers goes in, what may be sent next comes out.
struct PINState: Sendable {
    /// How many tries a PIN is believed to have left.
    enum Tries: Hashable, Sendable {
        case unknown
        case left(Int)
        /// As many as there are: it was right, or set anew.
        case all
    }

    /// Which PIN the cardholder knows, once that has been found out.
    var reference: PINReference?

    /// Whether the unblocking key serves that PIN. It does not serve the PIN of a whole card with many applications.
    var isUnblockable = true

    /// What the card told of the PIN as it is now, on cards with metadata.
    var metadata: PINMetadata?

    /// Whether the PIN was presented since the card was selected, and nothing took that back.
    private(set) var isPresented = false

    /// What tells the value that the card took with the last command that it was sent here.
    private(set) var lastCommand: [UInt8]?

    /// Whether what is known of tries was learned in this transaction, so that nobody has spent any since.
    private var isCurrent = false
    private var tries: [PINReference: Tries] = [:]
    /// What tells the value that was right last.
    private var right: [PINReference: [UInt8]] = [:]
    /// What was refused, with the tries that were left then: wrong for as long as there are no more.
    private var rejected: [[UInt8]: Int] = [:]

    func tries(of reference: PINReference) -> Tries { tries[reference] ?? .unknown }

    /// The tries that are left by number, where it is known.
    func triesLeft(of reference: PINReference) -> Int? {
        if case .left(let count) = tries(of: reference) { count } else { nil }
    }

    mutating func learn(_ tries: Tries, of reference: PINReference) {
        self.tries[reference] = tries
        isCurrent = true
    }

    /// Whether the tries are to be asked for before one is spent on a value. Not for the one that was right before: a second
    /// signature is to cost no more commands than it must.
    func wantsTries(of reference: PINReference, for fingerprint: [UInt8]?) -> Bool {
        switch tries(of: reference) {
        case .unknown: true
        case .left: !isCurrent
        case .all: !wasRight(fingerprint, of: reference)
        }
    }

    private func wasRight(_ fingerprint: [UInt8]?, of reference: PINReference) -> Bool {
        fingerprint.map { right[reference] == $0 } ?? false
    }

    /// A new transaction: other programs had the card in between.
    mutating func beginTransaction() { isCurrent = false }

    /// What the card makes of a value is unknown until it has answered.
    mutating func sending(to reference: PINReference) {
        tries[reference] = .unknown
        lastCommand = nil
        if reference != .unblocking { isPresented = false }
    }

    /// The card took the PIN.
    mutating func accepted(_ fingerprint: [UInt8]?, of reference: PINReference) {
        tries[reference] = .all
        right[reference] = fingerprint
        guard reference != .unblocking else { return }
        isPresented = true
        lastCommand = fingerprint
    }

    /// Another command than that of a PIN is sent: a key that wants the PIN each time may want it anew.
    mutating func sendingAnother() { lastCommand = nil }

    /// Whether the last command that was sent here presented this very value.
    func hasJustPresented(_ block: borrowing Secret) -> Bool {
        guard isPresented, let lastCommand, let reference else { return false }
        return PINState.fingerprint(block, of: reference) == lastCommand
    }

    /// A new value was set: what was wrong before may be right now. Not every card counts the new PIN as presented.
    mutating func replaced(_ reference: PINReference, by fingerprint: [UInt8]?) {
        metadata = nil
        tries[reference] = .all
        right[reference] = fingerprint
        rejected = rejected.filter { $0.key.first != reference.rawValue }
    }

    /// The card refused a value, and told so many tries.
    mutating func refused(_ fingerprint: [UInt8]?, of reference: PINReference, triesLeft: Int?) {
        learn(triesLeft.map { .left($0) } ?? .unknown, of: reference)
        // As many tries as after an earlier one: in between the right one was presented or set.
        rejected = rejected.filter { $0.key.first != reference.rawValue || $0.value > triesLeft ?? 0 }
        guard let fingerprint else { return }
        rejected[fingerprint] = triesLeft ?? .max
    }

    /// The card was reset, or another application selected: nothing is presented, and others may have used up tries.
    mutating func forgetPresented() {
        isPresented = false
        tries = [:]
    }

    /// The card wants the PIN although it was presented.
    mutating func notPresented() { isPresented = false }

    /// Whether the card refused the value, and nothing is known to have been right since.
    func hasRejected(_ fingerprint: [UInt8]?, of reference: PINReference) -> Bool {
        guard let fingerprint, let then = rejected[fingerprint] else { return false }
        return switch tries(of: reference) {
        case .unknown: true
        case .left(let count): count <= then
        case .all: then == .max
        }
    }

    /// A value that tells whether two PINs of a kind are the same, in this process alone, and nothing else of them; nil for an
    /// empty block, that of a PIN typed on the reader.
    static func fingerprint(_ block: borrowing Secret, of reference: PINReference) -> [UInt8]? {
        guard !block.isEmpty, let salt, let code = try? HMAC.code(for: salt, key: block) else { return nil }
        return [reference.rawValue] + code
    }

    private static let salt: [UInt8]? = try? RandomBytes.make(count: 32)
}
