internal import SecureBytes
internal import TokenKit

/// SELECT. SP 800-73-5 part 2 §3.1.1.
extension PIVApplet {
    /// The application identifier: NIST's RID, the PIV card application, version 1.0.
    static let identifier: [UInt8] = registeredProvider + [0x00, 0x00, 0x10, 0x00, 0x01, 0x00]

    private static let registeredProvider: [UInt8] = [0xA0, 0x00, 0x00, 0x03, 0x08]

    /// Yubico's one-time password application, through which older keys give their serial number.
    static let oneTimePasswordIdentifier: [UInt8] = [0xA0, 0x00, 0x00, 0x05, 0x27, 0x20, 0x01, 0x01]

    mutating func select(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.p1 == 0x04, command.p2 & 0xF3 == 0 else { throw Refusal(.incorrectParameters) }
        guard isOwn(command.data) else { return try selectOther(command.data) }
        // Selecting PIV again does not change the verification state (part 2 §3.1.1).
        if session.application != .piv { session.deselect() }
        session.application = .piv
        session.managementExchange = nil
        return ResponseAPDU(
            data: applicationTemplate, status: profile.has(.selectWarns) ? .applicationDeactivated : .success)
    }

    private func isOwn(_ name: [UInt8]) -> Bool {
        name.count >= PIVApplet.registeredProvider.count && PIVApplet.identifier.starts(with: name)
    }

    private mutating func selectOther(_ name: [UInt8]) throws(Refusal) -> ResponseAPDU {
        if let firmware = profile.firmware, profile.has(.otherSelectionDeselects), name.count > 6,
            PIVApplet.oneTimePasswordIdentifier.starts(with: name)
        {
            session.deselect()
            session.application = .oneTimePassword
            // ykman wants the application's status: its version, and that neither of its slots is configured.
            return .success(firmware.bytes + [0x00, 0x00, 0x00])
        }
        if profile.has(.otherSelectionDeselects) { session.deselect() }
        throw Refusal(.objectNotFound)
    }

    private var applicationTemplate: [UInt8] {
        var children = [
            TLV(0x4F, templateIdentifier),
            TLV(0x79, [TLV(0x4F, PIVApplet.registeredProvider)]),
        ]
        if let label = profile.label {
            children.append(TLV(0x50, Array(label.utf8)))
            children.append(TLV(0x5F50, Array("http://csrc.nist.gov/npivp".utf8)))
        }
        let algorithms = profile.announcedAlgorithms.map { TLV(0x80, [$0]) }
        let groups = profile.has(.algorithmsApart) ? algorithms.map { [$0] } : [algorithms]
        children += groups.filter { !$0.isEmpty }.map { TLV(0xAC, $0 + [TLV(0x06, [0x00])]) }
        if profile.transport.announcesExtendedLength {
            let transport = profile.transport
            children.append(
                TLV(
                    0x7F66,
                    [transport.commandLimit, transport.responseLimit].map {
                        TLV(0x02, UInt16(truncatingIfNeeded: $0).bigEndianBytes)
                    }))
        }
        let template = TLV(0x61, children)
        return (profile.has(.nestedTemplate) ? TLV(0x61, [template]) : template).encoded()
    }

    private var templateIdentifier: [UInt8] {
        let suffix = PIVApplet.identifier.dropFirst(PIVApplet.registeredProvider.count)
        if profile.has(.fullIdentifierInTemplate) { return PIVApplet.identifier }
        if profile.has(.shiftedIdentifierInTemplate) { return suffix.dropFirst() + [0x00] }
        return Array(suffix)
    }

    /// Answers instruction 01, slot 10, which asks for the serial number; PIV clients send no other command here.
    ///
    /// It also counts PINs, as other applications of such cards do, so that tests see a PIN that was meant for PIV.
    mutating func answerAsOneTimePassword(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        if let instruction = Instruction(rawValue: command.ins),
            [.verify, .changeReferenceData, .resetRetryCounter].contains(instruction)
        {
            throw Refusal(otherPINs.status(after: instruction, command))
        }
        guard command.ins == 0x01, command.p1 == 0x10 else { throw Refusal(.instructionNotSupported) }
        return serialNumber()
    }
}
