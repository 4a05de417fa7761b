package import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// The values that a token has refused: each as a keyed hash, with the tries that were left then.
///
/// A value is believed to be wrong for as long as the token has no more tries than that. With more, the right one has been
/// presented or set since, and a value that was wrong may have become right. So it may have when another is refused later and
/// leaves as many tries. Where the token does not tell how many there are, a value is wrong until a new one was set here.
///
///     version · salt (32) · { kind of PIN · tries left · HMAC-SHA-256 (32) } …
public struct RejectedPINs: Hashable, Sendable {
    private static let version: UInt8 = 1
    static let saltLength = 32
    private static let codeLength = 32
    private static let entryLength = 2 + codeLength
    private static let maximumCount = 32
    /// In place of the tries that were left, where the token did not tell.
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

    /// Nil where there is no salt to be had.
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

    /// The newest entries, as many as are kept for other programs.
    package var encoded: [UInt8] {
        let kept = entries.suffix(RejectedPINs.maximumCount)
        return [RejectedPINs.version] + salt + kept.flatMap { [$0.kind.number, $0.triesLeft] + $0.code }
    }

    /// Adds a value that was refused; one that is not known here only ends the belief in others.
    package mutating func insert(_ pin: borrowing PIN, as kind: PINKind, triesLeft: Int?) {
        if let triesLeft { expire(kind, triesLeft: triesLeft) }
        guard let code = RejectedPINs.code(of: pin, salt),
            let tries = triesLeft.map({ UInt8(exactly: $0) }) ?? RejectedPINs.untold
        else { return }
        entries.removeAll { $0.kind == kind && $0.code == code }
        entries.append(Entry(kind: kind, triesLeft: tries, code: code))
    }

    /// Another value was refused and left so many tries: with no more than these the right one was presented or set in between.
    mutating func expire(_ kind: PINKind, triesLeft: Int) {
        entries.removeAll { $0.kind == kind && $0.triesLeft != RejectedPINs.untold && Int($0.triesLeft) <= triesLeft }
    }

    /// A new value was set.
    package mutating func forget(_ kind: PINKind) {
        entries.removeAll { $0.kind == kind }
    }

    /// The fewest tries that the token left when it refused a value.
    package func fewestTries(of kind: PINKind) -> Int? {
        entries.filter { $0.kind == kind && $0.triesLeft != RejectedPINs.untold }.map { Int($0.triesLeft) }.min()
    }

    /// Whether the token refused the value, and its tries show no sign that it may be right by now.
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

    /// Nil for a PIN that is not known here.
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

/// The refused values that all programs of the user, or all slots of a process, remember.
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
