internal import SecureBytes
internal import TokenKit

/// GET DATA and PUT DATA. SP 800-73-5 part 2 §3.1.2 and §3.3.2.
extension PIVApplet {
    mutating func getData(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.p1 == 0x3F, command.p2 == 0xFF else { throw Refusal(.incorrectParameters) }
        let list = try parsing { () throws(TLVError) in try TLVReader.only(0x5C, in: command.data) }
        let tag = try self.tag(list.value)
        try requireReadable(tag)
        guard let value = contents.objects[tag] else { return try absent(tag) }
        let padding: [UInt8] = profile.has(.trailingBytes) ? [0x00, 0x00] : []
        if DataObject.isBare(tag) { return .success(TLV(tag, value).encoded() + padding) }
        return .success(profile.has(.bareObjects) ? value : TLV(0x53, value).encoded() + padding)
    }

    mutating func putData(_ command: CommandAPDU) throws(Refusal) -> ResponseAPDU {
        guard command.p1 == 0x3F, command.p2 == 0xFF else { throw Refusal(.incorrectParameters) }
        try requireManagement()
        let (tag, value) = try objectToPut(command.data)
        guard value.count <= profile.objectLimit else { throw Refusal(.notEnoughMemory) }
        contents.objects[tag] = value.isEmpty ? nil : value
        return .success()
    }

    /// Whether the PIN is verified: PIV's, or the global one if the discovery object allows it.
    var isPINVerified: Bool {
        if profile.has(.pinUnderGlobalReference) { return session.verified.contains(.global) }
        return session.verified.contains(.application)
            || (session.verified.contains(.global)
                && DataObject.globalPINSatisfies(contents.objects[DataObject.discovery]))
    }

    private func tag(_ octets: [UInt8]) throws(Refusal) -> TLVTag {
        guard (1...3).contains(octets.count) else { throw Refusal(.incorrectData) }
        let tag = TLVTag(rawValue: UInt32(bigEndianBytes: octets))
        guard tag != DataObject.keyHistory || !profile.has(.noKeyHistory) else { throw Refusal(.objectNotFound) }
        guard DataObject.standard.contains(tag) || (profile.hasPolicies && DataObject.isYubico(tag)) else {
            throw Refusal(.objectNotFound)
        }
        return tag
    }

    private func requireReadable(_ tag: TLVTag) throws(Refusal) {
        if profile.transport.interface == .contactless, !DataObject.contactless.contains(tag) {
            throw Refusal(.securityStatusNotSatisfied)
        }
        guard DataObject.protected.contains(tag), !isPINVerified else { return }
        throw Refusal(profile.has(.hidesProtectedObjects) ? .objectNotFound : .securityStatusNotSatisfied)
    }

    private func absent(_ tag: TLVTag) throws(Refusal) -> ResponseAPDU {
        if profile.absentObjectDelay > .zero { clock.sleep(for: profile.absentObjectDelay) }
        if tag == DataObject.discovery, profile.has(.discoveryRefused) { throw Refusal(.incorrectData) }
        guard profile.has(.absentObjectsAreEmpty), !DataObject.isBare(tag) else { throw Refusal(.objectNotFound) }
        return .success(TLV(0x53, [UInt8]()).encoded())
    }

    /// The object of a command: a tag list and `53`, or the discovery object or biometric templates under their own tag.
    private func objectToPut(_ data: [UInt8]) throws(Refusal) -> (tag: TLVTag, value: [UInt8]) {
        let elements = try parsing { () throws(TLVError) in
            var reader = TLVReader(data)
            return try reader.all()
        }
        if let only = elements.first, elements.count == 1, DataObject.isBare(only.tag) { return (only.tag, only.value) }
        guard elements.count == 2, elements[0].tag == 0x5C, elements[1].tag == 0x53 else {
            throw Refusal(.incorrectData)
        }
        return (try tag(elements[0].value), elements[1].value)
    }
}
