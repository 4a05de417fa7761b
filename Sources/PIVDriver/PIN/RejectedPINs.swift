internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The values that a card has refused, as every program of the user remembers them: each as a keyed hash, with the tries that
/// were left then.
///
/// A value is believed to be wrong for as long as the card has no more tries than that. With more, the right one has been
/// presented or set since, and a value that was wrong may have become right. So it may have when another is refused later and
/// leaves as many tries. Where the card does not tell how many there are, a value is wrong until another was taken here.
///
///     version · salt (32) · { kind of PIN · tries left · HMAC-SHA-256 (32) } …
struct RejectedPINs {
    private static let version: UInt8 = 1
    private static let saltLength = 32
    private static let entryLength = 34
    private static let maximumCount = 32
    /// In place of the tries that were left, where the card did not tell.
    private static let untold = UInt8.max

    private let salt: [UInt8]
    private var entries: [[UInt8]]

    init?() {
        guard let salt = try? RandomBytes.make(count: RejectedPINs.saltLength) else { return nil }
        (self.salt, entries) = (salt, [])
    }

    /// Nil for what no version of this driver has written.
    init?(parsing bytes: [UInt8]) {
        let content = bytes.dropFirst(1 + RejectedPINs.saltLength)
        guard bytes.first == RejectedPINs.version, bytes.count >= 1 + RejectedPINs.saltLength,
            content.count.isMultiple(of: RejectedPINs.entryLength)
        else { return nil }
        salt = Array(bytes[1...RejectedPINs.saltLength])
        entries = stride(from: content.startIndex, to: content.endIndex, by: RejectedPINs.entryLength).map {
            Array(content[$0..<$0 + RejectedPINs.entryLength])
        }
    }

    var encoded: [UInt8] { [RejectedPINs.version] + salt + entries.flatMap { $0 } }

    mutating func insert(_ block: borrowing Secret, of reference: PINReference, triesLeft: Int?) {
        guard let code = try? HMAC.code(for: salt, key: block),
            let tries = triesLeft.map({ UInt8(exactly: $0) }) ?? RejectedPINs.untold
        else { return }
        entries.removeAll { entry in
            let isOutOfDate = tries != RejectedPINs.untold && entry[1] <= tries
            return entry[0] == reference.rawValue && (isOutOfDate || entry.dropFirst(2).elementsEqual(code))
        }
        entries = Array(entries.suffix(RejectedPINs.maximumCount - 1)) + [[reference.rawValue, tries] + code]
    }

    /// A new value was set.
    mutating func forget(_ reference: PINReference) {
        entries.removeAll { $0[0] == reference.rawValue }
    }

    /// The fewest tries that the card left when it refused a value.
    func fewestTries(of reference: PINReference) -> Int? {
        entries.filter { $0[0] == reference.rawValue && $0[1] != RejectedPINs.untold }.map { Int($0[1]) }.min()
    }

    /// Whether the card refused the value, and nothing has been right since.
    ///
    /// - Parameter triesLeft: nil where the card does not tell.
    func contains(_ block: borrowing Secret, of reference: PINReference, triesLeft: Int?) -> Bool {
        guard let code = try? HMAC.code(for: salt, key: block) else { return false }
        return entries.contains { entry in
            entry[0] == reference.rawValue && triesLeft ?? 0 <= Int(entry[1]) && entry.dropFirst(2).elementsEqual(code)
        }
    }
}

extension PIVToken {
    /// Whether another program of the user had the card refuse the value.
    ///
    /// Which card it is costs a command, and so is asked only where some card has refused the value.
    mutating func isRejectedElsewhere(
        _ block: borrowing Secret, of reference: PINReference, triesLeft: Int?, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        guard let rejectedPINs, !block.isEmpty else { return false }
        for bytes in rejectedPINs.all() {
            guard let known = RejectedPINs(parsing: bytes), known.contains(block, of: reference, triesLeft: triesLeft)
            else { continue }
            let ofCard = rejectedPINs.recall(try tokenID(&card)).flatMap(RejectedPINs.init(parsing:))
            return ofCard?.contains(block, of: reference, triesLeft: triesLeft) ?? false
        }
        return false
    }

    /// The tries that the card left when it last refused a value of whichever program of the user; nil where none is remembered.
    mutating func rememberedTries(
        of reference: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> Int? {
        let known = rejectedPINs?.all().compactMap { RejectedPINs(parsing: $0) } ?? []
        guard let rejectedPINs, known.contains(where: { $0.fewestTries(of: reference) != nil }) else { return nil }
        return rejectedPINs.recall(try tokenID(&card)).flatMap(RejectedPINs.init(parsing:))?
            .fewestTries(of: reference)
    }

    mutating func rememberRejection(
        of block: borrowing Secret, _ reference: PINReference, triesLeft: Int?, _ card: inout CardTransaction
    ) {
        guard let rejectedPINs, !block.isEmpty, let id = try? tokenID(&card) else { return }
        guard var known = rejectedPINs.recall(id).flatMap(RejectedPINs.init(parsing:)) ?? RejectedPINs() else { return }
        known.insert(block, of: reference, triesLeft: triesLeft)
        rejectedPINs.remember(known.encoded, for: id)
    }

    mutating func forgetRejections(of reference: PINReference, _ card: inout CardTransaction) {
        guard let rejectedPINs, !rejectedPINs.all().isEmpty, let id = try? tokenID(&card),
            var known = rejectedPINs.recall(id).flatMap(RejectedPINs.init(parsing:))
        else { return }
        known.forget(reference)
        rejectedPINs.remember(known.encoded, for: id)
    }
}
