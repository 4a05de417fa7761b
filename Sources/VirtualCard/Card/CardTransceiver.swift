internal import TokenKit

/// Puts chained commands together and hands long answers out in pieces.
///
/// ISO/IEC 7816-4 §5.3; SP 800-73-5 part 2 §2.4. T=0 answers a command with data by 61xx alone, a wrong Le by 6Cxx.
struct CardTransceiver: Sendable {
    private static let chainingBit: UInt8 = 0x10
    private static let getResponse = Instruction.getResponse.rawValue

    private let transport: CardTransport
    private let ignoresExpectedLength: Bool
    private let announcesTooMuch: Bool
    /// SW2 of the status word that announces 256 bytes or more.
    private let announcementOfMore: UInt8
    private var chain: CommandAPDU?
    private var rest: ArraySlice<UInt8> = []
    private var restStatus = StatusWord.success

    init(profile: CardProfile) {
        transport = profile.transport
        ignoresExpectedLength = profile.has(.ignoresExpectedLength)
        announcesTooMuch = profile.has(.announcesTooMuch)
        announcementOfMore = profile.has(.announces255) ? 0xFF : 0x00
    }

    /// Drops an incomplete command and the rest of an answer.
    mutating func reset() {
        chain = nil
        rest = []
    }

    /// The answer to one command APDU as it comes over the wire.
    mutating func process(_ bytes: [UInt8], by applet: inout PIVApplet) -> ResponseAPDU {
        guard let (block, form) = try? CommandAPDU.parse(bytes), form == .short || takesExtendedLength else {
            reset()
            return ResponseAPDU(status: .wrongLength)
        }
        if block.ins == CardTransceiver.getResponse { return continueAnswer(to: block) }
        rest = []
        switch join(block) {
        case .tooLong: return ResponseAPDU(status: .wrongLength)
        case .incomplete: return .success()
        case .complete(let command):
            let response = applet.answer(to: command)
            return response.data.isEmpty ? response : handOut(response, to: block, form)
        }
    }

    private var takesExtendedLength: Bool {
        transport.takesExtendedLength && transport.transmissionProtocol == .t1
    }

    // MARK: - Commands

    private enum Joined {
        case complete(CommandAPDU)
        case incomplete
        case tooLong
    }

    /// Adds a block to the chain under way, which any other command ends.
    private mutating func join(_ block: CommandAPDU) -> Joined {
        var command = block
        command.cla &= ~CardTransceiver.chainingBit
        if let begun = chain, begun.ins == command.ins, begun.p1 == command.p1, begun.p2 == command.p2 {
            command.data = begun.data + command.data
        }
        chain = nil
        guard command.data.count <= max(transport.commandLimit, CommandAPDU.maximumShortData) else { return .tooLong }
        guard block.cla & CardTransceiver.chainingBit != 0 else { return .complete(command) }
        chain = command
        return .incomplete
    }

    // MARK: - Answers

    private mutating func handOut(
        _ response: ResponseAPDU, to block: CommandAPDU, _ form: CommandAPDU.Form
    ) -> ResponseAPDU {
        if ignoresExpectedLength { return response }
        rest = response.data[...]
        restStatus = response.status
        switch transport.transmissionProtocol {
        case .t0 where !block.data.isEmpty: return remaining()
        case .t0: return exactly(block.expectedLength ?? CommandAPDU.maximumShortResponse)
        case .t1: return next(limit(block.expectedLength, form))
        }
    }

    private mutating func continueAnswer(to command: CommandAPDU) -> ResponseAPDU {
        chain = nil
        guard !rest.isEmpty else {
            return ResponseAPDU(status: announcesTooMuch ? .incorrectData : .conditionsNotSatisfied)
        }
        let length = command.expectedLength ?? CommandAPDU.maximumShortResponse
        return transport.transmissionProtocol == .t0 && length > rest.count ? exactly(length) : next(length)
    }

    private func limit(_ expectedLength: Int?, _ form: CommandAPDU.Form) -> Int {
        switch form {
        // Some clients leave out Le with T=1, and the card answers as if it were 00.
        case .short: expectedLength ?? CommandAPDU.maximumShortResponse
        case .extended: min(expectedLength ?? transport.responseLimit, transport.responseLimit)
        }
    }

    /// The next `length` bytes, with the status word or 61xx for the bytes after them.
    private mutating func next(_ length: Int) -> ResponseAPDU {
        let length = min(length, transport.pieceLength ?? length)
        let piece = rest.prefix(length)
        rest = rest.dropFirst(length)
        let data = Array(piece)
        if rest.isEmpty {
            return ResponseAPDU(data: data, status: announcesTooMuch ? StatusWord(0x61, 0x08) : restStatus)
        }
        return ResponseAPDU(data: data, status: remaining().status)
    }

    /// The next `length` bytes; 6Cxx with the right Le if there are fewer.
    private mutating func exactly(_ length: Int) -> ResponseAPDU {
        if length == rest.count || rest.count > length { return next(length) }
        return ResponseAPDU(status: StatusWord(0x6C, UInt8(truncatingIfNeeded: rest.count)))
    }

    private func remaining() -> ResponseAPDU {
        let count = rest.count > 255 ? announcementOfMore : UInt8(truncatingIfNeeded: rest.count)
        return ResponseAPDU(status: StatusWord(0x61, count))
    }
}
