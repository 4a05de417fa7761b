public import SecureBytes
public import TokenKit

/// A command to a virtual card, without data that may be secret.
public struct LoggedCommand: Sendable, Hashable, CustomStringConvertible {
    public let cla: UInt8
    public let ins: UInt8
    public let p1: UInt8
    public let p2: UInt8

    /// Bytes of data in the command.
    public let dataCount: Int

    /// Whether its length fields were extended.
    public let isExtended: Bool

    /// The object that GET DATA asked for.
    public let object: TLVTag?

    /// The status word of the answer; nil without a whole answer.
    public let status: StatusWord?

    init(_ bytes: [UInt8], _ exchange: CardExchange) {
        let header = bytes.prefix(4) + Array(repeating: 0, count: max(4 - bytes.count, 0))
        (cla, ins, p1, p2) = (header[0], header[1], header[2], header[3])
        let parsed = try? CommandAPDU.parse(bytes)
        dataCount = parsed?.command.data.count ?? 0
        isExtended = parsed?.form == .extended
        object = ins == Instruction.getData.rawValue ? LoggedCommand.object(in: parsed?.command.data ?? []) : nil
        if case .answer(let answer) = exchange, let response = try? ResponseAPDU(parsing: answer) {
            status = response.status
        } else {
            status = nil
        }
    }

    /// Whether the command is a part of another one: a block of a chain except the last, or GET RESPONSE.
    public var isContinuation: Bool { cla & 0x10 != 0 || ins == Instruction.getResponse.rawValue }

    public var description: String {
        let text = Hex.encode([cla, ins, p1, p2]) + (dataCount > 0 ? " [\(dataCount)]" : "")
        return text + (object.map { " \($0)" } ?? "") + " → " + (status.map { Hex.encode([$0.sw1, $0.sw2]) } ?? "–")
    }

    private static func object(in data: [UInt8]) -> TLVTag? {
        guard let list = try? TLVReader.only(0x5C, in: data), (1...3).contains(list.value.count) else { return nil }
        return TLVTag(rawValue: UInt32(bigEndianBytes: list.value))
    }
}
