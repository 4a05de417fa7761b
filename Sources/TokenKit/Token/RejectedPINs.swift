package import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// The PINs and unblocking keys that a token has refused, each as a keyed hash with the tries that were left then.
///
/// A value counts as wrong while the token has no more tries than were left then. More tries mean that the right value was
/// presented or set since, so that a wrong value may have become right. The same holds when another value is refused later and
/// leaves as many tries. Where the token does not tell its tries, a value counts as wrong until a new one is set here.
///
///     version · salt (32) · { kind of PIN · tries left · HMAC-SHA-256 (32) } …
public struct RejectedPINs: Hashable, Sendable {
    private static let version: UInt8 = 1
    static let saltLength = 32
    private static let codeLength = 32
    private static let entryLength = 2 + codeLength
    private static let maximumCount = 32
    /// Stands for tries that the token did not tell.
    private static let untold = UInt8.max

    private struct Entry: Hashable {
        let kind: PINKind
        let triesLeft: UInt8
        let code: [UInt8]
    }

    private let salt: [UInt8]
    private var entries: [Entry] = []

    init(salt: [UInt8]) {
        self.salt = salt
    }

    /// Nil where no random salt can be made.
    package init?() {
        guard let salt = try? RandomBytes.make(count: RejectedPINs.saltLength) else { return nil }
        self.init(salt: salt)
    }

    /// Nil for bytes that no version of this type has written.
    package init?(parsing bytes: [UInt8]) {
        let content = bytes.dropFirst(1 + RejectedPINs.saltLength)
        guard bytes.first == RejectedPINs.version, bytes.count >= 1 + RejectedPINs.saltLength,
            content.count.isMultiple(of: RejectedPINs.entryLength)
        else { return nil }
        salt = Array(bytes[1...RejectedPINs.saltLength])
        for start in stride(from: content.startIndex, to: content.endIndex, by: RejectedPINs.entryLength) {
            guard let kind = PINKind(number: content[start]) else { return nil }
            let code = Array(content[start + 2..<start + RejectedPINs.entryLength])
            entries.append(Entry(kind: kind, triesLeft: content[start + 1], code: code))
        }
    }

    /// The encoded form, with the 32 newest entries.
    package var encoded: [UInt8] {
        let kept = entries.suffix(RejectedPINs.maximumCount)
        return [RejectedPINs.version] + salt + kept.flatMap { [$0.kind.number, $0.triesLeft] + $0.code }
    }

    /// Adds a value that was refused. A PIN that was typed on the reader is not added, but its tries may expire others.
    package mutating func insert(_ pin: borrowing PIN, as kind: PINKind, triesLeft: Int?) {
        if let triesLeft { expire(kind, triesLeft: triesLeft) }
        guard let code = RejectedPINs.code(of: pin, salt),
            let tries = triesLeft.map({ UInt8(exactly: $0) }) ?? RejectedPINs.untold
        else { return }
        entries.removeAll { $0.kind == kind && $0.code == code }
        entries.append(Entry(kind: kind, triesLeft: tries, code: code))
    }

    /// Removes the values that left no more than `triesLeft` tries, after another refused value left so many: the right one was
    /// presented or set in between.
    mutating func expire(_ kind: PINKind, triesLeft: Int) {
        entries.removeAll { $0.kind == kind && $0.triesLeft != RejectedPINs.untold && Int($0.triesLeft) <= triesLeft }
    }

    /// Forgets the values of a kind, since a new value was set.
    package mutating func forget(_ kind: PINKind) {
        entries.removeAll { $0.kind == kind }
    }

    /// Forgets the tries that were left, since the right value was presented, which gave it all its tries back.
    mutating func forgetTries(of kind: PINKind) {
        entries = entries.map { entry in
            entry.kind == kind ? Entry(kind: kind, triesLeft: RejectedPINs.untold, code: entry.code) : entry
        }
    }

    /// The fewest tries that the token left when it refused a value.
    package func fewestTries(of kind: PINKind) -> Int? {
        entries.filter { $0.kind == kind && $0.triesLeft != RejectedPINs.untold }.map { Int($0.triesLeft) }.min()
    }

    /// Whether the token refused the value, and its tries do not suggest that the value may be right by now.
    package func contains(_ pin: borrowing PIN, as kind: PINKind, _ tries: PINSession.Tries) -> Bool {
        guard !entries.isEmpty, let code = RejectedPINs.code(of: pin, salt),
            let entry = entries.first(where: { $0.kind == kind && $0.code == code })
        else { return false }
        return switch tries {
        case .unknown: true
        case .left(let count): count <= Int(entry.triesLeft)
        case .all: entry.triesLeft == RejectedPINs.untold
        }
    }

    /// The keyed hash of a PIN; nil for a PIN that is typed on the reader.
    static func code(of pin: borrowing PIN, _ salt: [UInt8]) -> [UInt8]? {
        guard pin.origin == .given, pin.count > 0, !salt.isEmpty else { return nil }
        return try? HMAC.code(for: salt, key: pin.secret)
    }
}

extension PINKind {
    /// The number of the kind in ``RejectedPINs``.
    fileprivate var number: UInt8 { self == .pin ? 0x80 : 0x81 }

    fileprivate init?(number: UInt8) {
        guard let kind = [PINKind.pin, .unblockingKey].first(where: { $0.number == number }) else { return nil }
        self = kind
    }
}

/// The refused values in a memory that all programs of the user, or all slots of a process, share.
extension TokenMemory {
    /// The refused values of every token, for use before the identity of the inserted token is known, which may cost a command.
    package var allRejectedPINs: [RejectedPINs] { all().compactMap { RejectedPINs(parsing: $0) } }

    package func rejectedPINs(of token: TokenID) -> RejectedPINs? {
        recall(token).flatMap { RejectedPINs(parsing: $0) }
    }

    package func remember(rejected pin: borrowing PIN, as kind: PINKind, triesLeft: Int?, of token: TokenID) {
        guard var known = rejectedPINs(of: token) ?? RejectedPINs() else { return }
        known.insert(pin, as: kind, triesLeft: triesLeft)
        remember(known.encoded, for: token)
    }

    /// Forgets the tries that were left at refusals, since a token that does not tell its tries has accepted the right value.
    package func forgetTries(of kind: PINKind, of token: TokenID) {
        guard var known = rejectedPINs(of: token), known.fewestTries(of: kind) != nil else { return }
        known.forgetTries(of: kind)
        remember(known.encoded, for: token)
    }

    package func forgetRejected(_ kind: PINKind, of token: TokenID) {
        guard var known = rejectedPINs(of: token) else { return }
        known.forget(kind)
        remember(known.encoded, for: token)
    }
}

/// Remembers for as long as the process lives.
package final class VolatileTokenMemory: TokenMemory {
    private let entries = Mutex<[TokenID: [UInt8]]>([:])

    package init() {}

    package func recall(_ token: TokenID) -> [UInt8]? { entries.withLock { $0[token] } }
    package func remember(_ bytes: [UInt8], for token: TokenID) { entries.withLock { $0[token] = bytes } }
    package func all() -> [[UInt8]] { entries.withLock { Array($0.values) } }
}
