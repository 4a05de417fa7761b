internal import TokenKit

/// The PINs of another application on the card. They have PIV's key references and their own tries, and PIV's commands do
/// not reach them.
struct OtherPINs: Sendable {
    private(set) var triesLeft: [UInt8: UInt8] = [
        PINReference.application.rawValue: 3, PINReference.unblocking.rawValue: 3,
    ]

    /// The status of a PIN command. Every value is wrong, and costs a try.
    mutating func status(after instruction: Instruction, _ command: CommandAPDU) -> StatusWord {
        // RESET RETRY COUNTER names the PIN, and spends a try of the unblocking key.
        let reference =
            instruction == .resetRetryCounter && triesLeft[command.p2] != nil
            ? PINReference.unblocking.rawValue : command.p2
        guard command.p1 == 0, let tries = triesLeft[reference] else { return .referenceNotFound }
        guard tries > 0 else { return .authenticationMethodBlocked }
        guard !command.data.isEmpty else { return StatusWord(0x63, 0xC0 | tries) }
        triesLeft[reference] = tries - 1
        return StatusWord(0x63, 0xC0 | (tries - 1))
    }
}
